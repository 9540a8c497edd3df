import type { Benchmark } from '../benchmark.js';
import { fanOut } from './fan-out.js';
import { httpTurns } from './http-turns.js';
import { idleSubscribers } from './idle-subscribers.js';
import { wakeUp } from './wake-up.js';

/** All benchmarks, in the order they run. */
export const benchmarks: readonly Benchmark[] = [httpTurns, wakeUp, idleSubscribers, fanOut];
