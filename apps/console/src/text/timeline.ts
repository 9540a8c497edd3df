import type { EventInfo } from '../api/index.js';
import { objectOf, readableArtifact, readableMessage, textOf, type ReadablePart } from './parts.js';

/** What an event says, for people. */
export interface EventText {
  /** What happened, in a few words. */
  readonly title: string;
  /** The state it puts the task in, if it does. */
  readonly state: string | null;
  readonly parts: readonly ReadablePart[];
  /** The reason of a state that the cluster itself wrote, such as `replica_lost`. */
  readonly reason: string | null;
}

/** One line of the timeline: an event, or pieces of one artifact that came one after the other. */
export type TimelineItem =
  | { readonly kind: 'event'; readonly event: EventInfo }
  | { readonly kind: 'chunks'; readonly artifactId: string; readonly events: readonly EventInfo[] };

/** The events of one turn. */
export interface TurnGroup {
  readonly epoch: number;
  /** Who wrote the first event of it that is shown: the replica that ran the turn, or opened it. */
  readonly holder: string;
  /** Whether another replica wrote the turn before it. */
  readonly moved: boolean;
  readonly items: readonly TimelineItem[];
}

/** As many pieces in a row are folded into one line. */
const FOLD_FROM = 4;

/** Events by turn, in order; a change of the epoch begins a new group. */
export function groupByTurn(events: readonly EventInfo[]): readonly TurnGroup[] {
  const groups: { epoch: number; holder: string; moved: boolean; events: EventInfo[] }[] = [];
  for (const event of events) {
    const last = groups.at(-1);
    if (last !== undefined && last.epoch === event.epoch) last.events.push(event);
    else {
      const moved = last !== undefined && last.holder !== event.holder;
      groups.push({ epoch: event.epoch, holder: event.holder, moved, events: [event] });
    }
  }
  return groups.map(({ events: own, ...group }) => ({ ...group, items: fold(own) }));
}

function fold(events: readonly EventInfo[]): readonly TimelineItem[] {
  const runs: EventInfo[][] = [];
  for (const event of events) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run !== undefined && before !== undefined && samePiece(before, event)) run.push(event);
    else runs.push([event]);
  }
  return runs.flatMap((run): TimelineItem[] => {
    const [first] = run;
    if (first === undefined || run.length < FOLD_FROM) return run.map((event) => ({ kind: 'event', event }));
    return [{ kind: 'chunks', artifactId: artifactIdOf(first), events: run }];
  });
}

function samePiece(one: EventInfo, other: EventInfo): boolean {
  return (
    one.kind === 'artifactUpdate' &&
    other.kind === 'artifactUpdate' &&
    one.holder === other.holder &&
    artifactIdOf(one) === artifactIdOf(other)
  );
}

function artifactIdOf(event: EventInfo): string {
  return textOf(objectOf(objectOf(event.payload['artifactUpdate'])['artifact'])['artifactId']);
}

/** What an event says. */
export function eventText(event: EventInfo): EventText {
  const { kind, payload } = event;
  if (kind === 'message') return messageText(payload);
  if (kind === 'artifactUpdate') return artifactText(objectOf(payload['artifactUpdate']));
  const body = objectOf(payload[kind]);
  const status = objectOf(body['status']);
  const message = readableMessage(status['message']);
  const own = objectOf(objectOf(body['metadata'])['a2a-cluster']);
  return {
    title: kind === 'task' ? 'Task' : 'Status',
    state: textOf(status['state']) || null,
    parts: message?.parts ?? [],
    reason: textOf(own['reason']) || null,
  };
}

function messageText(payload: Readonly<Record<string, unknown>>): EventText {
  const message = readableMessage('message' in payload ? payload['message'] : payload);
  const title = message?.role === 'agent' ? 'Message of the agent' : 'Message of the user';
  return { title, state: null, parts: message?.parts ?? [], reason: null };
}

function artifactText(update: Readonly<Record<string, unknown>>): EventText {
  const { artifactId, name, parts } = readableArtifact(update['artifact']);
  const word = update['append'] === true ? 'More of artifact' : 'Artifact';
  const end = update['lastChunk'] === true ? ', the last piece' : '';
  return { title: `${word} ${name || artifactId}${end}`, state: null, parts, reason: null };
}

/** The events known so far and new ones, in order, each once. */
export function mergeEvents(known: readonly EventInfo[], more: readonly EventInfo[]): readonly EventInfo[] {
  const bySeq = new Map(known.map((event) => [event.seq, event]));
  for (const event of more) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((one, other) => one.seq - other.seq);
}
