import { setTimeout as pause } from 'node:timers/promises';
import type { BackendCpu } from './backend-cpu.js';
import type { BenchServer } from './server-process.js';
import { describeCounts, totalOf } from './statements.js';
import { nowMs } from './time.js';

/** What a server used while nothing happened. */
export interface IdleUse {
  readonly statementsPerSecond: number;
  /** Percent of one core. */
  readonly cpuPercent: number;
  /** Percent of one core, all backends of the database; null: the server is elsewhere. */
  readonly databaseCpuPercent: number | null;
  /** The statements, counted. */
  readonly statements: string;
}

/** Waits, and tells what the server used meanwhile. */
export async function idleUse(options: {
  readonly server: BenchServer;
  readonly backends: BackendCpu;
  readonly forMs: number;
}): Promise<IdleUse> {
  const { server, backends, forMs } = options;
  const before = { ...(await server.stats()), backendMs: await backends.readMs() };
  const beganMs = nowMs();
  await pause(forMs);
  const tookMs = nowMs() - beganMs;
  const after = { ...(await server.stats()), backendMs: await backends.readMs() };
  const counts = new Map(after.statements);
  const backendMs =
    after.backendMs === null || before.backendMs === null ? null : after.backendMs - before.backendMs;
  return {
    statementsPerSecond: (totalOf(counts) * 1000) / tookMs,
    cpuPercent: ((after.cpuMs - before.cpuMs) * 100) / tookMs,
    databaseCpuPercent: backendMs === null ? null : (backendMs * 100) / tookMs,
    statements: describeCounts(counts),
  };
}
