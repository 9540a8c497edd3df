import type { Overview, Sample } from '../api/index.js';

/** A line of a chart. */
export interface Series {
  readonly label: string;
  readonly value: (sample: Sample) => number;
}

/** A chart of the overview. */
export interface ChartSpec {
  readonly id: string;
  readonly title: string;
  /** What the numbers are. */
  readonly unit: string;
  readonly series: readonly Series[];
}

/** The charts of the overview. */
export const CHARTS: readonly ChartSpec[] = [
  {
    id: 'turns',
    title: 'Turns',
    unit: 'per minute',
    series: [
      { label: 'Started', value: (sample) => sample.startedPerMin },
      { label: 'Ended', value: (sample) => sample.endedPerMin },
      { label: 'Parked', value: (sample) => sample.parkedPerMin },
    ],
  },
  {
    id: 'now',
    title: 'Right now',
    unit: 'at a time',
    series: [
      { label: 'Running turns', value: (sample) => sample.running },
      { label: 'Stream subscribers', value: (sample) => sample.subscribers },
    ],
  },
  {
    id: 'trouble',
    title: 'Trouble',
    unit: 'per minute',
    series: [
      { label: 'Refused turns', value: (sample) => sample.refusedPerMin },
      { label: 'Swept turns', value: (sample) => sample.sweptPerMin },
      { label: 'Failed deliveries', value: (sample) => sample.pushFailedPerMin },
    ],
  },
  {
    id: 'push',
    title: 'Push deliveries',
    unit: 'per minute',
    series: [
      { label: 'Delivered', value: (sample) => sample.pushDeliveredPerMin },
      { label: 'Failed', value: (sample) => sample.pushFailedPerMin },
    ],
  },
];

/** A place in the charts is left empty where nothing was heard for longer than this. */
const GAP_MS = 90_000;

/** The columns that are drawn: seconds since 1970, then one column a line. A silence is a gap, and no straight line. */
export function columnsOf(
  samples: readonly Sample[],
  series: readonly Series[],
): [number[], ...(number | null)[][]] {
  const times: number[] = [];
  const lines: (number | null)[][] = series.map(() => []);
  samples.forEach((sample, index) => {
    const before = samples[index - 1];
    if (before !== undefined && sample.atMs - before.atMs > GAP_MS) {
      times.push((before.atMs + sample.atMs) / 2_000);
      lines.forEach((line) => line.push(null));
    }
    times.push(sample.atMs / 1_000);
    series.forEach(({ value }, line) => lines[line]?.push(value(sample)));
  });
  return [times, ...lines];
}

/** At most `most` samples, evenly chosen, the newest among them: a table somebody reads has few rows. */
export function thin(samples: readonly Sample[], most: number): readonly Sample[] {
  if (samples.length <= most) return samples;
  const step = (samples.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => samples[Math.round(index * step)]).filter(
    (sample) => sample !== undefined,
  );
}

/** The rates of the last minute, averaged over its samples; null: there is no sample yet. */
export function lastMinute(
  overview: Pick<Overview, 'samples'>,
  value: (sample: Sample) => number,
): number | null {
  const last = overview.samples.at(-1);
  if (last === undefined) return null;
  const recent = overview.samples.filter((sample) => sample.atMs > last.atMs - 60_000);
  return recent.reduce((sum, sample) => sum + value(sample), 0) / recent.length;
}
