import { randomUUID } from 'node:crypto';
import type { Task } from '@a2a-js/sdk';
import {
  encodeEvent,
  errorText,
  failedStatus,
  isClusterError,
  sleep,
  type Clock,
  type Logger,
  type Scope,
} from '@a2a-cluster/core';
import type { JournalStatements } from '@a2a-cluster/db';
import type { Journal, TaskReader } from '@a2a-cluster/task-store';
import type { ResolvedHandlerOptions } from './options.js';
import { taskNotFound } from './refusals.js';

/** A turn whose lease was just taken. */
export interface TakenTurn {
  readonly taskId: string;
  readonly scope: Scope;
  readonly epoch: number;
  /** Monotonic time before the opening statement was sent. */
  readonly sentAtMs: number;
}

/** What reading an opened task needs. */
export interface ReadOpenedParts {
  readonly reader: TaskReader;
  readonly journal: Journal;
  readonly statements: Pick<JournalStatements, 'look'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly holder: string;
  readonly options: Pick<ResolvedHandlerOptions, 'trustMs'>;
}

const RETRY_PAUSE_MS = 100;

/**
 * The task of a turn that was just opened, its message included. The message is in the log, so the turn must not
 * vanish: a database that stumbles is asked again while the lease can be trusted, and where the task stays unreadable
 * the turn ends FAILED. What cannot even be written is left to the sweeper.
 *
 * @throws what the last read threw, or A2AError "not found".
 */
export async function readOpened(parts: ReadOpenedParts, turn: TakenTurn): Promise<Task> {
  const { taskId, scope } = turn;
  for (;;) {
    try {
      const stored = await parts.reader.read({ taskId, scope });
      if (stored === null) throw taskNotFound(taskId);
      return stored.task;
    } catch (error) {
      parts.logger.error({ err: error, taskId }, `an opened task was not read: ${errorText(error)}`);
      const passing = isClusterError(error) && error.code !== 'ROW_CORRUPT' && error.code !== 'BUG';
      if (!passing || restMs(parts, turn) <= RETRY_PAUSE_MS) {
        await failUnread(parts, turn);
        throw error;
      }
      await sleep({ clock: parts.clock, delayMs: RETRY_PAUSE_MS });
    }
  }
}

/** Ends the turn without knowing its task: a status needs no more than the ids. Never rejects. */
async function failUnread(parts: ReadOpenedParts, turn: TakenTurn): Promise<void> {
  const { taskId, scope, epoch } = turn;
  const { clock, journal, holder, logger, statements } = parts;
  const lost = new AbortController();
  const limit = clock.setTimer(Math.max(0, restMs(parts, turn)), () => lost.abort());
  try {
    const look = await statements.look({ taskId, scope });
    if (look === null || look.lease?.epoch !== epoch || look.version !== epoch) return;
    const timestamp = clock.wallIso();
    const { contextId, state } = look;
    const data = failedStatus({
      ...{ taskId, contextId, timestamp, messageId: randomUUID() },
      reason: 'executor_error',
      text: 'The task could not be read.',
    });
    await journal.commit({
      authority: { taskId, epoch, holder, lost: lost.signal, renewNow: async () => 'unknown' },
      ...{ scope, expectedVersion: epoch, currentState: state, state: 'TASK_STATE_FAILED' },
      ...{ statusTimestamp: timestamp, terminal: true, clearsPending: true, snapshot: null },
      events: [
        {
          kind: 'statusUpdate',
          payload: encodeEvent({ kind: 'statusUpdate', data }),
          writeId: randomUUID(),
        },
      ],
    });
  } catch (error) {
    logger.error({ err: error, taskId, epoch }, 'a turn that could not be read is left to the sweeper');
  } finally {
    limit.cancel();
  }
}

function restMs(parts: ReadOpenedParts, turn: TakenTurn): number {
  return turn.sentAtMs + parts.options.trustMs - parts.clock.monotonicMs();
}
