import type { Benchmark } from '../benchmark.js';
import { commit } from './commit.js';
import { deliveries } from './deliveries.js';
import { fanOut } from './fan-out.js';
import { flood } from './flood.js';
import { followUp } from './follow-up.js';
import { growth } from './growth.js';
import { heartbeat } from './heartbeat.js';
import { httpTurns } from './http-turns.js';
import { idleSubscribers } from './idle-subscribers.js';
import { longTurn } from './long-turn.js';
import { oldSnapshot } from './old-snapshot.js';
import { pushedTurns } from './pushed-turns.js';
import { sweep } from './sweep.js';
import { telemetry } from './telemetry.js';
import { wakeUp } from './wake-up.js';
import { inMemory, originalTurns } from './whole-turns.js';

/** All benchmarks, in the order they run. */
export const benchmarks: readonly Benchmark[] = [
  commit,
  httpTurns,
  followUp,
  longTurn,
  heartbeat,
  sweep,
  wakeUp,
  idleSubscribers,
  flood,
  fanOut,
  growth,
  oldSnapshot,
  inMemory,
  originalTurns,
  deliveries,
  pushedTurns,
  telemetry,
];
