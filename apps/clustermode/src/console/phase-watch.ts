import type { ReplicaListing } from '@a2a-cluster/db';

/** For how long each replica has been in its phase, as this process saw it: the table does not say. */
export class PhaseWatch {
  private seen = new Map<string, { readonly phase: string; readonly sinceMs: number }>();

  /** Takes what the table says now; `nowMs` by the clock of this process. */
  see(replicas: readonly Pick<ReplicaListing, 'replicaId' | 'phase'>[], nowMs: number): void {
    this.seen = new Map(
      replicas.map(({ replicaId, phase }) => {
        const before = this.seen.get(replicaId);
        return [replicaId, before?.phase === phase ? before : { phase, sinceMs: nowMs }];
      }),
    );
  }

  /** Milliseconds, by replica. */
  ages(nowMs: number): ReadonlyMap<string, number> {
    return new Map([...this.seen].map(([replicaId, { sinceMs }]) => [replicaId, nowMs - sinceMs]));
  }
}
