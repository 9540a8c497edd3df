import { useRef } from 'preact/hooks';
import { Page } from '../parts/page.js';
import { setToken } from '../state/session.js';

/** Asks for the operator's token. */
export function TokenView({ why }: { readonly why: 'missing' | 'refused' }) {
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    const value = field.current?.value.trim() ?? '';
    if (value !== '') setToken(value);
  };
  return (
    <Page title="Token needed">
      <form class="panel token" onSubmit={submit}>
        <p>
          This console wants the token that the replicas have in <code>CONSOLE_TOKEN</code> or{' '}
          <code>OPERATOR_TOKEN</code>. It is kept until this tab is closed, and sent to these replicas only.
        </p>
        <div role="alert">
          {why === 'refused' && (
            <p class="failure-text">
              The token was not accepted. Compare it with what the replicas were started with.
            </p>
          )}
        </div>
        <label for="token">Token</label>
        <input ref={field} id="token" type="password" autocomplete="current-password" required />
        <button type="submit" class="button button-main">
          Continue
        </button>
      </form>
    </Page>
  );
}
