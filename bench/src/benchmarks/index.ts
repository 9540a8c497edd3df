import type { Benchmark } from '../benchmark.js';
import { httpTurns } from './http-turns.js';
import { wakeUp } from './wake-up.js';

/** All benchmarks, in the order they run. */
export const benchmarks: readonly Benchmark[] = [httpTurns, wakeUp];
