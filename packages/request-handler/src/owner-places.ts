import type { Scope } from '@a2a-cluster/core';
import type { OwnerLimit, ResolvedHandlerOptions } from './options.js';
import { tooManyStreams } from './refusals.js';

/** Whose request it is. */
export interface Caller {
  readonly scope: Scope;
  /** Whether the transport knows who that is; all others share one owner. */
  readonly authenticated: boolean;
}

/** Counts what each owner holds on this replica. Owners that hold nothing cost nothing. */
export class OwnerPlaces {
  private readonly held = new Map<string, number>();

  constructor(private readonly limit: OwnerLimit) {}

  /** Takes one more; null: the owner holds as many as it may. What it gives puts the place back, once. */
  take({ scope, authenticated }: Caller): (() => void) | null {
    const most = authenticated ? this.limit.named : this.limit.unnamed;
    // NUL stands in neither of the two.
    const key = `${scope.tenant}\u0000${scope.owner}`;
    const held = this.held.get(key) ?? 0;
    if (held >= most) return null;
    this.held.set(key, held + 1);
    return once(() => {
      const left = (this.held.get(key) ?? 0) - 1;
      if (left > 0) this.held.set(key, left);
      else this.held.delete(key);
    });
  }
}

/** The streams this replica has open. */
export class StreamPlaces {
  private count = 0;
  private readonly owners: OwnerPlaces;

  constructor(
    private readonly options: Pick<
      ResolvedHandlerOptions,
      'maxStreams' | 'maxStreamsPerOwner' | 'heartbeatMs'
    >,
  ) {
    this.owners = new OwnerPlaces(options.maxStreamsPerOwner);
  }

  /**
   * A place for one stream; what it gives puts it back, once.
   * @throws A2AError with reason `TOO_MANY_STREAMS`.
   */
  take(caller: Caller): () => void {
    const { maxStreams, heartbeatMs: retryAfterMs } = this.options;
    if (this.count >= maxStreams) throw tooManyStreams({ scope: 'replica', retryAfterMs });
    const giveBack = this.owners.take(caller);
    if (giveBack === null) throw tooManyStreams({ scope: 'owner', retryAfterMs });
    this.count++;
    return once(() => {
      this.count--;
      giveBack();
    });
  }
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
