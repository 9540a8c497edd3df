import type { PushInfo } from '../api/index.js';
import { askFor, retryPush } from '../state/actions.js';
import { duration, plural } from '../text/format.js';
import type { Tone } from '../text/states.js';
import { Badge } from './badge.js';
import { Id } from './id.js';
import { Empty } from './states.js';
import { Table, type Column } from './table.js';

/** The webhooks of a task: how far each is, and what was given up. */
export function PushList(props: {
  readonly taskId: string;
  readonly push: readonly PushInfo[];
  readonly mayAct: boolean;
  readonly reload: () => void;
}) {
  const { taskId, push, mayAct, reload } = props;
  if (push.length === 0)
    return (
      <Empty>
        <p>This task has no webhooks.</p>
      </Empty>
    );
  return (
    <>
      {push.map((config) => (
        <Webhook
          key={config.configId}
          config={config}
          retry={mayAct ? () => askFor({ ...retryPush(taskId, config.configId), after: reload }) : null}
        />
      ))}
    </>
  );
}

function Webhook({ config, retry }: { readonly config: PushInfo; readonly retry: (() => void) | null }) {
  const { configId, url, position, attempts, lastError, holder, dead } = config;
  const { tone, text } = statusOf(config);
  const retriable =
    dead.some(({ status }) => status === 'dead') || config.status === 'disabled' || attempts > 0;
  return (
    <article class="panel webhook" aria-label={`Webhook ${configId}`}>
      <div class="webhook-head">
        <h3>{url}</h3>
        <Badge tone={tone} text={text} />
      </div>
      <dl class="facts">
        <div>
          <dt>Config</dt>
          <dd>
            <Id value={configId} keep={40} />
          </dd>
        </div>
        <div>
          <dt>Delivered up to event</dt>
          <dd>{position}</dd>
        </div>
        <div>
          <dt>Attempts at the next</dt>
          <dd>{`${attempts}${whenNext(config)}`}</dd>
        </div>
        {holder !== null && (
          <div>
            <dt>Delivered by</dt>
            <dd>
              <Id value={holder} keep={24} />
            </dd>
          </div>
        )}
      </dl>
      {lastError !== null && <p class="last-error">Last answer: {lastError}</p>}
      {dead.length > 0 && (
        <>
          <h4>{plural(dead.length, 'dead letter')}</h4>
          <Table
            caption={`Dead letters of ${url}`}
            columns={DEAD}
            rows={dead}
            keyOf={({ seq }) => String(seq)}
          />
        </>
      )}
      {retry !== null && retriable && (
        <button type="button" class="button" onClick={retry}>
          Send again<span class="sr-only"> to {url}</span>
        </button>
      )}
    </article>
  );
}

function statusOf({ status, attempts, dead }: PushInfo): { readonly tone: Tone; readonly text: string } {
  if (status === 'disabled') return { tone: 'bad', text: 'Disabled' };
  if (attempts > 0) return { tone: 'wait', text: 'Retrying' };
  if (dead.some((letter) => letter.status === 'dead')) return { tone: 'bad', text: 'Gave up events' };
  return status === 'done' ? { tone: 'good', text: 'All delivered' } : { tone: 'busy', text: 'Active' };
}

function whenNext({ dueInMs, holder, status }: PushInfo): string {
  if (dueInMs === null || holder !== null || status !== 'active') return '';
  return dueInMs <= 0 ? ', due now' : `, looks again in ${duration(dueInMs)}`;
}

type Dead = PushInfo['dead'][number];

const FATES = {
  dead: { tone: 'bad', text: 'Given up' },
  queued: { tone: 'wait', text: 'Queued again' },
  delivered: { tone: 'good', text: 'Delivered' },
} as const;

const DEAD: readonly Column<Dead>[] = [
  { title: 'Event', numeric: true, cell: ({ seq }) => String(seq) },
  { title: 'Fate', cell: ({ status }) => <Badge tone={FATES[status].tone} text={FATES[status].text} /> },
  { title: 'Attempts', numeric: true, cell: ({ attempts }) => String(attempts) },
  { title: 'Answer', cell: ({ error }) => error },
  { title: 'Age', cell: ({ ageMs }) => <span class="one-line">{duration(ageMs)}</span> },
];
