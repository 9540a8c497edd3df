import { ClusterError, decodeEvent, isClusterError, type EventRow, type TaskEvent } from '@a2a-cluster/core';

/** A row of the log that decodes itself at most once, however many tails ask. */
export class Entry {
  readonly row: EventRow;
  /** What the row weighs in buffers: its payload in bytes. */
  readonly bytes: number;
  #event: TaskEvent | undefined;
  #error: ClusterError | undefined;

  constructor(row: EventRow) {
    this.row = row;
    this.#event = row.decoded;
    this.bytes = Buffer.byteLength(row.payload, 'utf8');
  }

  /** The decoded event, shared by all callers. @throws `ClusterError` `ROW_CORRUPT`, the same at every call. */
  get event(): TaskEvent {
    if (this.#error) throw this.#error;
    if (this.#event) return this.#event;
    try {
      return (this.#event = decodeEvent(this.row.kind, this.row.payload));
    } catch (cause) {
      throw (this.#error = corrupt(this.row, cause));
    }
  }
}

function corrupt(row: EventRow, cause: unknown): ClusterError {
  const why = isClusterError(cause, 'ROW_CORRUPT') ? cause.message : 'stored event does not decode';
  const details = { taskId: row.taskId, seq: row.seq };
  return new ClusterError('ROW_CORRUPT', `event ${row.seq}: ${why}`, { cause, details });
}
