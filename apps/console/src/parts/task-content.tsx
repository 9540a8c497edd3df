import { objectOf, listOf, prettyJson, readableArtifact, readableMessage } from '../text/parts.js';
import { count, plural } from '../text/format.js';
import { Section } from './page.js';
import { Parts, Text } from './parts.js';
import { Empty } from './states.js';

/** What the task holds: its artifacts, its messages, its metadata. */
export function TaskContent({ document }: { readonly document: Readonly<Record<string, unknown>> }) {
  const metadata = objectOf(document['metadata']);
  return (
    <>
      <Messages document={document} />
      <Artifacts artifacts={listOf(document['artifacts'])} />
      {Object.keys(metadata).length > 0 && (
        <Section id="metadata" title="Metadata">
          <div class="panel">
            <Text text={prettyJson(metadata)} code what="Metadata" />
          </div>
        </Section>
      )}
    </>
  );
}

const ROLES = { user: 'User', agent: 'Agent', unknown: 'Somebody' } as const;

function Messages({ document }: { readonly document: Readonly<Record<string, unknown>> }) {
  const history = listOf(document['history']);
  const now = objectOf(document['status'])['message'];
  const messages = [...history, ...(now === undefined ? [] : [now])]
    .map(readableMessage)
    .filter((message) => message !== null);
  // The message of the state may stand in the history too.
  const shown = messages.filter(
    (message, index) =>
      message.messageId === '' ||
      messages.findIndex(({ messageId }) => messageId === message.messageId) === index,
  );
  return (
    <Section id="messages" title="Messages">
      {shown.length === 0 ? (
        <Empty>
          <p>No messages.</p>
        </Empty>
      ) : (
        <ul class="messages panel">
          {shown.map((message, index) => (
            <li key={index} class={`message message-${message.role}`}>
              <span class="message-role">{ROLES[message.role]}</span>
              <div>
                <Parts parts={message.parts} what={`Message ${index + 1}, ${ROLES[message.role]}`} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Artifacts({ artifacts }: { readonly artifacts: readonly unknown[] }) {
  if (artifacts.length === 0) return null;
  return (
    <Section
      id="artifacts"
      title="Artifacts"
      aside={<span class="quiet">{plural(artifacts.length, 'artifact')}</span>}
    >
      {artifacts.map(readableArtifact).map(({ artifactId, name, description, parts }, index) => (
        <article key={index} class="panel artifact" aria-label={`Artifact ${name || artifactId}`}>
          <h3>{name || artifactId || count(index + 1)}</h3>
          {description !== '' && <p class="quiet">{description}</p>}
          <Parts parts={parts} what={`Artifact ${name || artifactId}`} />
        </article>
      ))}
    </Section>
  );
}
