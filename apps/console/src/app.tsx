import { Link, Route, Router, Switch, useLocation } from 'wouter-preact';
import { ConfirmDialog } from './parts/dialog.js';
import { ConnectionMark } from './parts/connection-mark.js';
import { Notices } from './parts/notices.js';
import { TaskSearch } from './parts/task-search.js';
import { ThemeSwitch } from './parts/theme-switch.js';
import { overview } from './state/live.js';
import { setToken, token, tokenWanted } from './state/session.js';
import { Lost } from './views/lost.js';
import { OverviewView } from './views/overview.js';
import { ReplicasView } from './views/replicas.js';
import { TaskView } from './views/task.js';
import { TasksView } from './views/tasks.js';
import { TokenView } from './views/token.js';

const PLACES = [
  { path: '/', label: 'Overview' },
  { path: '/tasks', label: 'Tasks' },
  { path: '/replicas', label: 'Replicas' },
] as const;

/** The whole page. */
export function App() {
  return (
    <Router base="/console">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        <Notices />
        {tokenWanted.value === null ? <Views /> : <TokenView why={tokenWanted.value} />}
      </main>
      <Footer />
      <ConfirmDialog />
    </Router>
  );
}

function Views() {
  return (
    <Switch>
      <Route path="/" component={OverviewView} />
      <Route path="/tasks" component={TasksView} />
      <Route path="/tasks/*" component={TaskView} />
      <Route path="/replicas" component={ReplicasView} />
      <Route component={Lost} />
    </Switch>
  );
}

function Header() {
  const [path] = useLocation();
  return (
    <header class="header">
      <div class="bar">
        <span class="brand">
          <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" focusable="false">
            <path d="M12 4l7 12H5z" />
            <circle cx="12" cy="4" r="3" />
            <circle cx="19" cy="17" r="3" />
            <circle cx="5" cy="17" r="3" />
          </svg>
          a2a-cluster
        </span>
        <nav aria-label="Main">
          {PLACES.map(({ path: to, label }) => (
            <Link key={to} to={to} aria-current={isAt(path, to) ? 'page' : undefined}>
              {label}
              {to === '/' && <AttentionCount />}
            </Link>
          ))}
        </nav>
        <TaskSearch />
        <ConnectionMark />
      </div>
    </header>
  );
}

function AttentionCount() {
  const number = overview.value?.attention.length ?? 0;
  if (number === 0) return null;
  return (
    <span class="nav-count">
      {number}
      <span class="sr-only"> in need of attention</span>
    </span>
  );
}

function isAt(path: string, place: string): boolean {
  return path === place || (place !== '/' && path.startsWith(`${place}/`));
}

function Footer() {
  const now = overview.value;
  return (
    <footer class="footer">
      <p>
        {now === null
          ? 'No replica has answered yet.'
          : `Answered by ${now.replicaId} on ${now.provider}, hints by ${now.hints}.`}
      </p>
      <div class="footer-tools">
        {token.value !== null && (
          <button type="button" class="link-button" onClick={() => setToken(null)}>
            Forget the token
          </button>
        )}
        <ThemeSwitch />
      </div>
    </footer>
  );
}
