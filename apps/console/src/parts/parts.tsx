import { useState } from 'preact/hooks';
import type { ReadablePart } from '../text/parts.js';
import { bytes } from '../text/format.js';

/** More than this is shown on demand: a browser is slow with a text of megabytes. */
const SHOWN_CHARACTERS = 8_000;

/** What a message or an artifact says. Whatever it is, it is shown as text. */
export function Parts({ parts, what }: { readonly parts: readonly ReadablePart[]; readonly what: string }) {
  return (
    <>
      {parts.map((part, index) =>
        part.kind === 'file' ? (
          <p key={index} class="file">
            <span class="file-name">{part.name}</span>
            <span class="quiet">
              {part.type}, {part.size}
            </span>
          </p>
        ) : (
          <Text key={index} text={part.text} code={part.kind === 'data'} what={what} />
        ),
      )}
    </>
  );
}

/** A text with its line breaks; a long one in a box that scrolls, and a very long one in pieces. */
export function Text(props: { readonly text: string; readonly code?: boolean; readonly what: string }) {
  const { text, code = false, what } = props;
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN_CHARACTERS;
  const shown = cut ? text.slice(0, SHOWN_CHARACTERS) : text;
  return (
    <>
      {isLong(shown) ? (
        <pre class={`text text-long ${code ? 'code' : ''}`} role="region" aria-label={what} tabIndex={0}>
          {shown}
        </pre>
      ) : (
        <pre class={`text ${code ? 'code' : ''}`}>{shown}</pre>
      )}
      {cut && (
        <button type="button" class="link-button" onClick={() => setWhole(true)}>
          Show all {bytes(text.length)}
        </button>
      )}
    </>
  );
}

/** Whether it may need the box: what never scrolls must not be a stop of the keyboard. */
function isLong(text: string): boolean {
  return text.length > 600 || text.split('\n').length > 12;
}
