export { startCapture, type Capture, type SentStatement } from './capture.js';
export { growDatabase } from './generate.js';
export { listCalls, PAGE } from './list-calls.js';
export { explain, isExplainable } from './plan.js';
export type { Plan, PlanStep } from './plan-shape.js';
export {
  COMMON_STATE,
  FEW,
  HOLDER,
  LARGE_CONTEXT,
  MANY,
  RARE_STATE,
  SMALL_CONTEXT,
  grownTaskId,
  grownTimestamp,
} from './rows.js';
export { SMALL_GROWTH, type GrowthCall, type GrowthSize } from './sizes.js';
export { OPERATOR_READS, operatorPages } from './operator-calls.js';
export { pushCalls } from './push-calls.js';
export { readCalls, sweepOf, writeCalls } from './task-calls.js';
export {
  GROWING_TABLES,
  explainCalls,
  isTotal,
  wrongPages,
  wrongReads,
  wrongTotals,
  type Explained,
} from './rules.js';
