import type { Clock, Logger } from '@a2a-cluster/core';
import type { Overview } from '@a2a-cluster/console/api';
import { createCountCache, type CountCache } from './counts.js';
import { overviewOf, type OverviewSetting } from './overview.js';
import { PhaseWatch } from './phase-watch.js';
import { SampleRing } from './samples.js';
import type { ConsoleSource } from './source.js';

/** Options of {@link createConsoleHub}. */
export interface ConsoleHubOptions {
  readonly source: ConsoleSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly setting: OverviewSetting;
  /** Most pages that are open at once; default 100. */
  readonly mostPages?: number;
  /** Between two looks at what this replica knows; default 1 s. At most one overview per look. */
  readonly lookMs?: number;
  /** The counts of the database are read again when they are older; default 5 s. */
  readonly countsFreshMs?: number;
  /** Between two samples at least; default 4 s. */
  readonly sampleGapMs?: number;
}

/** An open page, as the hub sees it. */
export interface HubPage {
  /** Something changed: take {@link ConsoleHub.text} when there is room for it. */
  changed(): void;
  /** No more comes. */
  closed(): void;
}

/**
 * What all open pages of a replica live from. It looks at what the replica has in memory, at no cost of the database;
 * only the counts are read, once for all pages, while there is one. Samples are taken also while there is none, so that
 * charts have a past.
 */
export interface ConsoleHub {
  /** With counts that are fresh, unless the database is away. */
  overview(mayAct: boolean): Promise<Overview>;
  /** The overview of now as JSON; made once for all who ask between two looks. */
  text(mayAct: boolean): string;
  /** Resolves when there are counts to show, or none can be had. Never rejects. */
  ready(): Promise<void>;
  /** Adds a page; gives what removes it, or why there is no place. */
  open(page: HubPage): (() => void) | 'full' | 'closed';
  /** Ends all pages and all looking. Idempotent. */
  close(): void;
}

const DEFAULT_MOST_PAGES = 100;
const DEFAULT_LOOK_MS = 1_000;
const DEFAULT_COUNTS_FRESH_MS = 5_000;
const DEFAULT_SAMPLE_GAP_MS = 4_000;
const KEPT_MS = 3_600_000;

/** A hub that looks from now on, until it is closed. */
export function createConsoleHub(options: ConsoleHubOptions): ConsoleHub {
  return new Hub(options);
}

class Hub implements ConsoleHub {
  private readonly pages = new Set<HubPage>();
  private readonly counts: CountCache;
  private readonly samples: SampleRing;
  private readonly phases = new PhaseWatch();
  private readonly startedAtMs: number;
  private readonly texts = new Map<boolean, string>();
  private timer: { cancel(): void } | null = null;
  private shown = '';
  private isClosed = false;

  constructor(private readonly options: ConsoleHubOptions) {
    const { source, clock, logger } = options;
    const freshMs = options.countsFreshMs ?? DEFAULT_COUNTS_FRESH_MS;
    this.counts = createCountCache({ source, clock, logger, freshMs });
    const leastGapMs = options.sampleGapMs ?? DEFAULT_SAMPLE_GAP_MS;
    this.samples = new SampleRing({ keptMs: KEPT_MS, leastGapMs });
    this.startedAtMs = clock.monotonicMs();
    this.look();
  }

  async overview(mayAct: boolean): Promise<Overview> {
    await this.counts.refresh();
    return this.build(mayAct);
  }

  ready(): Promise<void> {
    return this.counts.refresh();
  }

  text(mayAct: boolean): string {
    const text = this.texts.get(mayAct) ?? JSON.stringify(this.build(mayAct));
    this.texts.set(mayAct, text);
    return text;
  }

  open(page: HubPage): (() => void) | 'full' | 'closed' {
    if (this.isClosed) return 'closed';
    if (this.pages.size >= (this.options.mostPages ?? DEFAULT_MOST_PAGES)) return 'full';
    this.pages.add(page);
    return () => void this.pages.delete(page);
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    for (const page of this.pages) page.closed();
    this.pages.clear();
  }

  private look(): void {
    const { clock, lookMs = DEFAULT_LOOK_MS } = this.options;
    this.timer = clock.setTimer(lookMs, () => this.look());
    this.takeSample();
    this.texts.clear();
    if (this.pages.size === 0) return;
    void this.counts.refresh().then(() => this.tellPages());
  }

  private takeSample(): void {
    const { source, clock } = this.options;
    const { replicas, ageMs } = source.operator.replicas.known();
    if (ageMs === null) return;
    const nowMs = clock.monotonicMs();
    this.phases.see(replicas, nowMs);
    this.samples.take({
      readAtMs: nowMs - ageMs,
      atMs: Math.round(Date.parse(clock.wallIso()) - ageMs),
      replicas,
    });
  }

  private tellPages(): void {
    if (this.isClosed) return;
    const overview = this.build(true);
    // Ages grow all the time; they are no change.
    const { atMs: _now, replicas, samples, attention, knownAgeMs: _age, ...rest } = overview;
    const facts = replicas.map(({ upMs: _up, beatAgeMs: _beat, ...replica }) => replica);
    const known = this.options.source.operator.replicas.known().replicas.map(({ upMs }) => upMs);
    const attended = attention.map(({ code, link }) => [code, link]);
    const shown = JSON.stringify([rest, facts, samples.at(-1)?.atMs, attended, known]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.texts.clear();
    for (const page of this.pages) page.changed();
  }

  private build(mayAct: boolean): Overview {
    const { source, clock, setting } = this.options;
    const nowMs = clock.monotonicMs();
    return overviewOf({
      setting,
      mayAct,
      atMs: Date.parse(clock.wallIso()),
      status: source.status(),
      known: source.operator.replicas.known(),
      counts: this.counts.last(),
      samples: this.samples.all(),
      inPhaseMs: this.phases.ages(nowMs),
      lookingForMs: nowMs - this.startedAtMs,
    });
  }
}
