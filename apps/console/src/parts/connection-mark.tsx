import { localNow, serverNow, tick } from '../state/clock.js';
import { connection, overview, reconnectNow } from '../state/live.js';
import { tokenWanted } from '../state/session.js';
import { duration } from '../text/format.js';
import { Icon, type IconName } from './icon.js';

/** A replica whose knowledge of the others is older than this many heartbeats has lost the database, or is stuck. */
const STALE_BEATS = 4;

interface Mark {
  readonly look: 'good' | 'wait' | 'bad';
  readonly icon: IconName;
  readonly text: string;
  readonly detail: string | null;
}

/** Whether what is shown is live. Screen readers hear the words when they change; the age beside them is silent. */
export function ConnectionMark() {
  const mark = markNow();
  // The page asks for a token then, and says why.
  if (tokenWanted.value !== null) return null;
  return (
    <div class={`mark mark-${mark.look}`}>
      <Icon name={mark.icon} />
      <span role="status">{mark.text}</span>
      {mark.detail !== null && <span class="mark-detail">{mark.detail}</span>}
      {mark.look === 'bad' && (
        <button type="button" class="link-button" onClick={reconnectNow}>
          Try now
        </button>
      )}
    </div>
  );
}

function markNow(): Mark {
  const { status, heardAtMs, reason } = connection.value;
  if (status === 'live') return staleBehind() ?? { look: 'good', icon: 'dot', text: 'Live', detail: null };
  if (status === 'paused') return { look: 'wait', icon: 'pause', text: 'Paused', detail: null };
  if (heardAtMs === null)
    return reason === null
      ? { look: 'wait', icon: 'wait', text: 'Connecting', detail: null }
      : { look: 'bad', icon: 'alert', text: 'Not connected', detail: reason };
  void tick.value;
  const since = `stale since ${duration(localNow() - heardAtMs)}`;
  return { look: 'bad', icon: 'alert', text: 'Reconnecting', detail: since };
}

function staleBehind(): Mark | null {
  const now = overview.value;
  if (now === null || now.knownAgeMs === null) return null;
  const beat = Math.max(1_000, ...now.replicas.map((replica) => replica.heartbeatMs));
  // An overview is sent when something changed, so the age has grown since.
  const ageMs = now.knownAgeMs + Math.max(0, serverNow() - now.atMs);
  if (ageMs < beat * STALE_BEATS) return null;
  return {
    look: 'bad',
    icon: 'alert',
    text: 'The replica cannot see the database',
    detail: `stale since ${duration(ageMs)}`,
  };
}
