import type { Benchmark } from '../benchmark.js';
import { heartbeat } from './heartbeat.js';
import { httpTurns } from './http-turns.js';
import { sweep } from './sweep.js';

/** All benchmarks, in the order they run. */
export const benchmarks: readonly Benchmark[] = [httpTurns, heartbeat, sweep];
