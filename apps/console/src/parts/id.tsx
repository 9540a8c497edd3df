import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { shorten } from '../text/format.js';
import { Icon } from './icon.js';

/** An id, its middle left out where it is long; whole on hover, on focus and for screen readers, and to copy. */
export function Id(props: {
  readonly value: string;
  /** Where it leads; without it is no link. */
  readonly to?: string;
  readonly keep?: number;
  /** What it is the id of, for the copy button. No button without it. */
  readonly copy?: string;
}) {
  const { value, to, keep = 17, copy } = props;
  if (value === '') return <span class="quiet">none</span>;
  const short = shorten(value, keep);
  const shown =
    short === value ? (
      <span>{value}</span>
    ) : (
      <>
        <span aria-hidden="true">{short}</span>
        <span class="sr-only">{value}</span>
      </>
    );
  const long = short !== value;
  return (
    <span class="id">
      {to === undefined ? (
        <span class="id-text" title={long ? value : undefined}>
          {shown}
        </span>
      ) : (
        <Link to={to} class="id-text" title={long ? value : undefined}>
          {shown}
        </Link>
      )}
      {long && to !== undefined && (
        <span class="id-full" aria-hidden="true">
          {value}
        </span>
      )}
      {copy !== undefined && <Copy value={value} what={copy} />}
    </span>
  );
}

function Copy({ value, what }: { readonly value: string; readonly what: string }) {
  const [copied, setCopied] = useState(false);
  // Only pages from https or this machine may write to the clipboard.
  if (navigator.clipboard === undefined) return null;
  const copy = (): void => {
    navigator.clipboard.writeText(value).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <button type="button" class="icon-button" onClick={copy} onBlur={() => setCopied(false)}>
      <Icon name={copied ? 'check' : 'copy'} />
      <span class="sr-only" role="status">
        {copied ? `Copied ${what}` : `Copy ${what}`}
      </span>
    </button>
  );
}
