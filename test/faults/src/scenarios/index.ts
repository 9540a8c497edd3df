import type { Scenario } from '../scenario.js';
import { crash } from './r01-crash.js';

/** Every scenario, in the order they run. */
export const scenarios: readonly Scenario[] = [crash];
