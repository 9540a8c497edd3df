import { Link } from 'wouter-preact';
import type { Attention } from '../api/index.js';
import { Icon } from './icon.js';

/** What is wrong and where to look; or that nothing is. Announced when it changes. */
export function AttentionList({ items }: { readonly items: readonly Attention[] }) {
  return (
    <section class="attention" aria-label="Attention">
      <div role="status">
        {items.length === 0 ? (
          <p class="attention-item attention-good">
            <Icon name="check" /> All is well. Nothing needs attention.
          </p>
        ) : (
          <ul>
            {items.map(({ severity, code, message, link }) => (
              <li key={`${code} ${message}`} class={`attention-item attention-${severity}`}>
                <Icon name={severity === 'critical' ? 'stop' : 'alert'} />
                <span>
                  <strong>{severity === 'critical' ? 'Critical' : 'Warning'}:</strong> {message}
                </span>
                {link !== undefined && (
                  <Link to={link} class="attention-link">
                    Look<span class="sr-only"> at: {message}</span>
                  </Link>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
