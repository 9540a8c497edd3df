import type { Benchmark } from '../benchmark.js';
import { commit } from './commit.js';
import { flood } from './flood.js';
import { followUp } from './follow-up.js';
import { httpTurns } from './http-turns.js';
import { longTurn } from './long-turn.js';
import { inMemory, originalTurns } from './whole-turns.js';

/** All benchmarks, in the order they run. */
export const benchmarks: readonly Benchmark[] = [
  commit,
  httpTurns,
  followUp,
  longTurn,
  flood,
  inMemory,
  originalTurns,
];
