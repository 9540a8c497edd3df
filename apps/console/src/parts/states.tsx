import type { ComponentChildren } from 'preact';
import type { ApiFailure } from '../api/client.js';
import { Icon } from './icon.js';

/** Something is being read for the first time. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="panel placeholder" role="status">
      Reading {what}…
    </p>
  );
}

/** There is nothing, and why that may be. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="panel placeholder">{children}</div>;
}

/** Something could not be read: the cause, and a way out. */
export function Failed(props: {
  readonly what: string;
  readonly failure: ApiFailure;
  readonly retry: () => void;
}) {
  const { what, failure, retry } = props;
  return (
    <div class="panel failure" role="alert">
      <Icon name="alert" />
      <p>
        <strong>Could not read {what}.</strong> {failure.message}
      </p>
      <button type="button" class="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}
