import type {
  CallRecord,
  FaultKind,
  FaultRecord,
  Frame,
  LogRecord,
  PushRecord,
  ReplicaRecord,
  ResourceSample,
  StreamEnd,
  StreamRecord,
} from '../history/history.js';
import { nowMs } from './now.js';

type Open<T> = { -readonly [Key in keyof T]: T[Key] };

/** A stream that is still being written down. */
export type OpenStream = Omit<Open<StreamRecord>, 'frames'> & {
  readonly frames: Frame[];
  ended: StreamEnd | null;
};

/** An attempt that may still be answered. */
export type OpenPush = Open<PushRecord>;

/** A boot that is still being written down. */
export type OpenReplica = Omit<Open<ReplicaRecord>, 'strayLines'> & { readonly strayLines: string[] };

/** A fault that has begun. */
export interface OpenFault {
  /** It is over, from now on or from the moment that is named; only the first call counts. */
  end(atMs?: number): void;
}

/** What is written down while a scenario runs. */
export class Recorder {
  readonly beganAtMs = nowMs();
  readonly replicas: OpenReplica[] = [];
  readonly faults: Open<FaultRecord>[] = [];
  readonly streams: OpenStream[] = [];
  readonly calls: CallRecord[] = [];
  readonly pushes: OpenPush[] = [];
  readonly logs: LogRecord[] = [];
  readonly samples: ResourceSample[] = [];

  /** Writes down that something is being broken; call it before it is. */
  fault(fault: {
    readonly kind: FaultKind;
    readonly replica?: string | null;
    readonly detail: string;
  }): OpenFault {
    const { kind, replica = null, detail } = fault;
    const record: Open<FaultRecord> = { kind, replica, fromMs: nowMs(), toMs: null, detail };
    this.faults.push(record);
    return {
      end(atMs = nowMs()) {
        record.toMs ??= atMs;
      },
    };
  }
}
