import uPlot from 'uplot';
import type { ChartSpec } from '../text/series.js';
import { count } from '../text/format.js';

/** Broken lines tell the series apart where colours do not. */
const DASHES = [[], [6, 4], [2, 3]];
const HEIGHT = 150;

/** How a chart is drawn. */
export interface PlotOptions {
  readonly into: HTMLElement;
  readonly spec: ChartSpec;
  readonly columns: uPlot.AlignedData;
  /** A point under the pointer; null: none. */
  readonly onPoint: (index: number | null) => void;
}

/** Draws it. The colours are those of `--series-1`.. as they are now; a change of theme needs a new one. */
export function createPlot({ into, spec, columns, onPoint }: PlotOptions): uPlot {
  const quiet = colourOf(into, '--chart-text');
  const grid = { stroke: colourOf(into, '--chart-grid'), width: 1 };
  const font = '12px system-ui, sans-serif';
  const axis = { stroke: quiet, grid, font, ticks: { show: false } };
  return new uPlot(
    {
      width: Math.max(100, into.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, niceTop(high)] } },
      series: [
        {},
        ...spec.series.map(({ label }, index) => ({
          label,
          stroke: colourOf(into, `--series-${index + 1}`),
          width: 2,
          dash: DASHES[index] ?? [],
          points: { show: false },
        })),
      ],
      axes: [
        { ...axis, size: 26, space: 56, values: hoursOf },
        { ...axis, size: 46, space: 36, values: (_plot, values) => values.map(labelOf) },
      ],
      hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
    },
    columns,
    into,
  );
}

/** Follows the width of its place until the returned function is called. */
export function followWidth(plot: uPlot, into: HTMLElement): () => void {
  const observer = new ResizeObserver(() => {
    const width = Math.max(100, into.clientWidth);
    if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
  });
  observer.observe(into);
  return () => observer.disconnect();
}

/** A round number at or above the highest; something above nothing, so that a flat line lies at the bottom. */
export function niceTop(high: number | null): number {
  if (high === null || !(high > 0)) return 4;
  const size = 10 ** Math.floor(Math.log10(high));
  const step = [1, 2, 4, 5, 10].find((candidate) => high <= candidate * size) ?? 10;
  return Math.max(4, step * size);
}

function labelOf(value: number): string {
  return count(value);
}

/** With seconds where the marks are closer than a minute. */
function hoursOf(_plot: uPlot, times: readonly number[]): string[] {
  const [first = 0, second = first + 60] = times;
  return times.map((seconds) => {
    const date = new Date(seconds * 1_000);
    const pad = (value: number): string => String(value).padStart(2, '0');
    const hour = `${date.getHours()}:${pad(date.getMinutes())}`;
    return second - first < 60 ? `${hour}:${pad(date.getSeconds())}` : hour;
  });
}

/** The colour as the browser computes it: a canvas knows neither custom properties nor `light-dark()`. */
function colourOf(place: HTMLElement, property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
