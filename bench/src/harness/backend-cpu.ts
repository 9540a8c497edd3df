import { readFileSync } from 'node:fs';
import { openRaw } from '@a2a-cluster/testing';

/** CPU time of a database's PostgreSQL backends. */
export interface BackendCpu {
  /** Of those that live now, since each began; null where the server is not on this machine. */
  readMs(): Promise<number | null>;
  close(): Promise<void>;
}

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;
/** Fields of `/proc/<pid>/stat` behind the name, in user mode and in the kernel. */
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

/** Watches the backends by `/proc`. Its own connection is not counted. */
export async function openBackendCpu(databaseUrl: string): Promise<BackendCpu> {
  const raw = await openRaw(databaseUrl);
  return {
    readMs: async () => {
      const rows = await raw.query(
        'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      try {
        return rows.reduce((sum, { pid }) => sum + cpuMsOf(Number(pid)), 0);
      } catch {
        return null;
      }
    },
    close: () => raw.close(),
  };
}

function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may hold blanks; it ends with the last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_FIELD]) + Number(fields[SYSTEM_FIELD])) * TICK_MS;
}
