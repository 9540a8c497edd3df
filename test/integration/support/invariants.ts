import { Rows } from './rows.js';

const TERMINAL = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]);
const INTERRUPTED = new Set(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']);

interface StreamJson {
  readonly task?: { readonly status?: { readonly state?: string } };
  readonly statusUpdate?: { readonly status?: { readonly state?: string } };
}

/**
 * What must hold of the tables when nothing runs any more (protocol 12: I1, I2, I3, I10). Gives every violation in a
 * sentence; none is what a test wants.
 */
export async function violations(url: string): Promise<string[]> {
  const rows = await Rows.open(url);
  try {
    const found: string[] = [];
    for (const task of await rows.tasks()) {
      const events = await rows.events(task.taskId);
      const lease = await rows.lease(task.taskId);
      found.push(
        ...judge({ ...task, events, leased: lease !== undefined }).map((text) => `${task.taskId}: ${text}`),
      );
    }
    return found;
  } finally {
    await rows.close();
  }
}

interface Judged {
  readonly state: string;
  readonly version: number;
  readonly events: Awaited<ReturnType<Rows['events']>>;
  readonly leased: boolean;
}

function judge(task: Judged): string[] {
  const found: string[] = [];
  const { events, state, version, leased } = task;
  if (events.some((event, index) => event.seq !== index + 1))
    found.push(`I2: seqs are ${events.map((each) => each.seq).join()}`);
  if (version !== events.length) found.push(`I1: version ${version}, ${events.length} events`);
  const ends = events.filter((event) => TERMINAL.has(stateOf(event.payload) ?? ''));
  if (ends.length > 1) found.push(`I1: ${ends.length} terminal events`);
  if (ends[0] && ends[0].seq !== version) found.push('I1: events after the terminal one');
  if (TERMINAL.has(state) !== ends.length > 0)
    found.push(`I1: the row says ${state}, ${ends.length} terminal events`);
  if (events.some((event, index) => event.epoch < (events[index - 1]?.epoch ?? 0)))
    found.push('I3: an epoch shrinks');
  const holders = new Map<number, string>();
  for (const event of events) {
    if (event.kind === 'message' || TERMINAL.has(stateOf(event.payload) ?? '')) continue;
    const first = holders.get(event.epoch) ?? event.holder;
    if (first !== event.holder) found.push(`I3: two replicas wrote under epoch ${event.epoch}`);
    holders.set(event.epoch, first);
  }
  if (TERMINAL.has(state) && leased) found.push('I10: a lease on an ended task');
  if (!TERMINAL.has(state) && !INTERRUPTED.has(state) && !leased) found.push(`I10: ${state} and no lease`);
  return found;
}

function stateOf(payload: string): string | undefined {
  const json = JSON.parse(payload) as StreamJson;
  return json.task?.status?.state ?? json.statusUpdate?.status?.state;
}
