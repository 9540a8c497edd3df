import { isInterruptedName, isTerminalName } from '@a2a-cluster/core';
import type { RawConnection } from '@a2a-cluster/testing';
import type { Contention } from './contention.js';

interface EventRecord {
  readonly seq: number;
  readonly kind: string;
  readonly payload: string;
  readonly write_id: string;
  readonly holder: string;
  readonly epoch: number;
}

/** Checks I1 to I4 and I10 of protocol 12 over the tables and what the actors were told; gives what is wrong. */
export async function violations(run: Contention, raw: RawConnection): Promise<string[]> {
  const wrong: string[] = [];
  for (const taskId of run.taskIds)
    wrong.push(...(await violationsOf(taskId, raw)).map((text) => `${taskId}: ${text}`));
  return [...wrong, ...(await acknowledgements(run, raw)), ...sweptTwice(run)];
}

async function violationsOf(taskId: string, raw: RawConnection): Promise<string[]> {
  const [task] = await raw.query('SELECT state, version FROM tasks WHERE id = $1', [taskId]);
  const leases = await raw.query('SELECT epoch FROM task_leases WHERE task_id = $1', [taskId]);
  const events = (await raw.query('SELECT * FROM task_events WHERE task_id = $1 ORDER BY seq', [
    taskId,
  ])) as unknown as EventRecord[];
  const state = String(task?.['state']);
  const wrong = [...statesOf(events, state), ...epochsOf(events)];
  if (events.some((event, n) => event.seq !== n + 1)) wrong.push('I2: seq has a gap or a repeat');
  if (events.length !== Number(task?.['version'])) wrong.push('I1: the version is not the last seq');
  if (leases.length > 0 && isTerminalName(state)) wrong.push('I10: a lease on a terminal task');
  if (leases.length === 0 && !isTerminalName(state) && !isInterruptedName(state))
    wrong.push(`I10: ${state} and nobody runs it`);
  return wrong;
}

function statesOf(events: readonly EventRecord[], taskState: string): string[] {
  const states = events.map((event) => stateIn(event.payload));
  const terminal = states.findIndex((state) => state !== null && isTerminalName(state));
  const wrong: string[] = [];
  if (terminal !== -1 && terminal !== events.length - 1) wrong.push('I1: an event after the terminal one');
  const last = states.filter((state) => state !== null).at(-1);
  if (last !== taskState) wrong.push(`I1: the task is ${taskState}, its last event says ${last}`);
  return wrong;
}

function stateIn(payload: string): string | null {
  const event = JSON.parse(payload);
  return event.statusUpdate?.status.state ?? event.state;
}

function epochsOf(events: readonly EventRecord[]): string[] {
  const wrong: string[] = [];
  const holders = new Map<number, string>();
  let current = 0;
  for (const { seq, kind, holder, epoch } of events) {
    if (holder.startsWith('sweeper') || holder === 'canceller') continue;
    if (seq === 1 || kind === 'message') current = seq;
    if (epoch !== current) wrong.push(`I3: seq ${seq} carries epoch ${epoch}, current is ${current}`);
    if ((holders.get(epoch) ?? holder) !== holder) wrong.push(`I3: two replicas in epoch ${epoch}`);
    holders.set(epoch, holder);
  }
  return wrong;
}

async function acknowledgements(run: Contention, raw: RawConnection): Promise<string[]> {
  const rows = await raw.query('SELECT write_id, count(*)::int AS n FROM task_events GROUP BY write_id');
  const times = new Map(rows.map((row) => [String(row['write_id']), Number(row['n'])]));
  return [
    ...run.stored
      .filter((id) => times.get(id) !== 1)
      .map((id) => `I4: acknowledged ${id} is there ${times.get(id)} times`),
    ...run.refused.filter((id) => times.has(id)).map((id) => `I4: refused ${id} is there`),
  ];
}

function sweptTwice(run: Contention): string[] {
  const keys = run.swept.map(({ taskId, epoch }) => `${taskId}:${epoch}`);
  return keys.length === new Set(keys).size ? [] : ['I10: a lease was swept twice'];
}
