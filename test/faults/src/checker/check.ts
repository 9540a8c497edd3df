import type { History, Violation } from '../history/history.js';
import { checkI01 } from './i01.js';
import { checkI02 } from './i02.js';
import { checkI03 } from './i03.js';
import { checkI04 } from './i04.js';
import { checkI05 } from './i05.js';
import { checkI06 } from './i06.js';
import { checkI07 } from './i07.js';
import { checkI08 } from './i08.js';
import { checkI09 } from './i09.js';
import { checkI10 } from './i10.js';
import { checkI11 } from './i11.js';
import { checkI12 } from './i12.js';
import { checkPruning } from './pruning.js';
import { viewOf, type HistoryView } from './view.js';

const RULES: readonly ((view: HistoryView) => Violation[])[] = [
  checkI01,
  checkI02,
  checkPruning,
  checkI03,
  checkI04,
  checkI05,
  checkI06,
  checkI07,
  checkI08,
  checkI09,
  checkI10,
  checkI11,
  checkI12,
];

/** Judges a history by the invariants of protocol 12. Pure; no violation is what a scenario wants. */
export function checkHistory(history: History): readonly Violation[] {
  const view = viewOf(history);
  return RULES.flatMap((rule) => rule(view));
}

export { mergedHistory } from './merged.js';
