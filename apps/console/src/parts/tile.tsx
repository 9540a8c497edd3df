import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';

/** A number at a glance. */
export function Tile(props: {
  readonly label: string;
  readonly value: string;
  readonly note?: ComponentChildren;
  readonly to?: string;
  readonly look?: 'plain' | 'bad' | 'wait';
}) {
  const { label, value, note, to, look = 'plain' } = props;
  return (
    <div class={`tile panel tile-${look}`}>
      <dt>{to === undefined ? label : <Link to={to}>{label}</Link>}</dt>
      <dd>
        <span class="tile-value">{value}</span>
        {note !== undefined && <span class="tile-note">{note}</span>}
      </dd>
    </div>
  );
}
