import { Link } from 'wouter-preact';
import { Page } from '../parts/page.js';
import { Empty } from '../parts/states.js';

/** A path that leads nowhere. */
export function Lost() {
  return (
    <Page title="Not here">
      <Empty>
        <p>
          There is no such page. Begin at the <Link to="/">overview</Link>.
        </p>
      </Empty>
    </Page>
  );
}
