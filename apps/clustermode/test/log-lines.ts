import { createLog } from '../src/log.js';

/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A real log that is kept in memory. */
export interface KeptLog {
  readonly log: ReturnType<typeof createLog>;
  lines(): LogLine[];
  /** The lines about refusals, once there are so many. */
  audited(count: number): Promise<LogLine[]>;
}

/** A log of everything, down to debug. */
export function keepLog(): KeptLog {
  const written: string[] = [];
  const waiting = new Set<() => void>();
  const destination = {
    write: (line: string) => {
      written.push(line);
      waiting.forEach((look) => look());
    },
  };
  const lines = (): LogLine[] => written.map((line) => JSON.parse(line));
  const audits = (): LogLine[] => lines().filter((line) => line['audit'] === true);
  return {
    log: createLog({ level: 'debug', destination }),
    lines,
    audited: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (audits().length >= count) resolve(audits());
        };
        waiting.add(look);
        look();
      }),
  };
}
