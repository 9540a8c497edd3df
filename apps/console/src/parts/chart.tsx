import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { Sample } from '../api/index.js';
import { paint } from '../state/theme.js';
import { count } from '../text/format.js';
import { columnsOf, thin, type ChartSpec } from '../text/series.js';
import { createPlot, followWidth } from './plot.js';
import { Hour } from './time.js';

const TABLE_ROWS = 15;

/** A chart: its lines, their current values as text, and all of it as a table on demand. */
export function Chart({ spec, samples }: { readonly spec: ChartSpec; readonly samples: readonly Sample[] }) {
  const [point, setPoint] = useState<number | null>(null);
  const columns = columnsOf(samples, spec.series);
  const at = point === null ? undefined : columns[0][point];
  const newest = samples.at(-1);
  return (
    <figure class="chart panel" aria-labelledby={`chart-${spec.id}`}>
      <figcaption>
        <h3 id={`chart-${spec.id}`}>
          {spec.title} <span class="quiet">{spec.unit}</span>
        </h3>
        <ul class="legend">
          {spec.series.map(({ label, value }, index) => {
            const under = point === null ? null : columns[index + 1]?.[point];
            const shown = under ?? (newest === undefined ? null : value(newest));
            return (
              <li key={label}>
                <span class={`swatch swatch-${index + 1}`} aria-hidden="true" />
                {label} <strong>{shown === null ? '–' : count(shown)}</strong>
              </li>
            );
          })}
          <li class="quiet legend-time">{at === undefined ? 'now' : <Hour atMs={at * 1_000} />}</li>
        </ul>
      </figcaption>
      {samples.length < 2 ? (
        <p class="chart-empty quiet">The first samples come within a minute.</p>
      ) : (
        <Plot spec={spec} columns={columns} onPoint={setPoint} />
      )}
      <ChartTable spec={spec} samples={samples} />
    </figure>
  );
}

function Plot(props: {
  readonly spec: ChartSpec;
  readonly columns: uPlot.AlignedData;
  readonly onPoint: (index: number | null) => void;
}) {
  const { spec, columns, onPoint } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const colours = paint.value;
  useEffect(() => {
    const into = place.current;
    if (into === null) return undefined;
    const made = createPlot({ into, spec, columns, onPoint });
    plot.current = made;
    const stop = followWidth(made, into);
    return () => {
      stop();
      made.destroy();
      plot.current = null;
    };
  }, [spec, colours]);
  useEffect(() => plot.current?.setData(columns), [columns]);
  return <div ref={place} class="plot" aria-hidden="true" />;
}

function ChartTable({ spec, samples }: { readonly spec: ChartSpec; readonly samples: readonly Sample[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        As a table<span class="sr-only">: {spec.title}</span>
      </summary>
      {open && (
        <table>
          <caption class="sr-only">
            {spec.title}, {spec.unit}, the newest first
          </caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {spec.series.map(({ label }) => (
                <th key={label} scope="col" class="num">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {[...thin(samples, TABLE_ROWS)].reverse().map((sample) => (
              <tr key={sample.atMs}>
                <th scope="row">
                  <Hour atMs={sample.atMs} />
                </th>
                {spec.series.map(({ label, value }) => (
                  <td key={label} class="num">
                    {count(value(sample))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
