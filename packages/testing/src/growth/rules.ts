import type { Database } from '@a2a-cluster/db';
import type { TestProvider } from '../providers.js';
import type { RawConnection } from '../raw-connection.js';
import type { Capture, SentStatement } from './capture.js';
import { explain, isExplainable } from './plan.js';
import type { Plan, PlanStep } from './plan-shape.js';
import type { GrowthCall } from './sizes.js';

/** A statement of a call, and one way in which the database may run it. */
export interface Explained {
  readonly call: string;
  readonly statement: SentStatement;
  readonly plan: Plan;
}

/** Tables that grow for good; `task_leases` holds what runs, `push_dead_letters` what has failed. */
export const GROWING_TABLES = ['tasks', 'task_events', 'task_snapshots', 'push_notification_configs'];

/** Indexes over the few rows that have something to come: to read one from end to end is to read no more than that. */
const PARTIAL_INDEXES = ['push_notification_configs_due_at_idx', 'push_notification_configs_disabled_idx'];

/** The most rows of anything that a statement is asked for at once. */
const MOST_ROWS = 500;

/**
 * Runs calls and asks for the plans of what they sent.
 * @throws Error when a call sent nothing: it would show nothing.
 */
export async function explainCalls(parts: {
  readonly provider: TestProvider;
  readonly database: Database;
  readonly capture: Capture;
  readonly raw: RawConnection;
  readonly calls: readonly GrowthCall[];
}): Promise<readonly Explained[]> {
  const { provider, database, capture, raw, calls } = parts;
  const found: Explained[] = [];
  for (const { name, run } of calls) {
    capture.take();
    await run(database);
    const texts = new Map(capture.take().map((statement) => [statement.sql, statement]));
    const statements = [...texts.values()].filter(isExplainable);
    if (statements.length === 0) throw new Error(`${name} sent no statement`);
    for (const statement of statements)
      for (const plan of await explain(provider, raw, statement)) found.push({ call: name, statement, plan });
  }
  return found;
}

/** Whether it counts the matches of a list. */
export function isTotal({ statement }: Explained): boolean {
  return /\bcount\(/i.test(statement.sql);
}

/** Of pages of lists, those that are no range of an index entered where the page begins. */
export function wrongPages(provider: TestProvider, pages: readonly Explained[]): readonly Explained[] {
  return pages.filter(({ call, statement, plan }) => {
    // MySQL's index of contexts has no room for `id`, so what has no time is sorted.
    const mayBeSorted = provider === 'mysql' && ofContext(call) && statement.sql.includes('IS NULL');
    const rare = /^a rare state:/.test(call) ? ['state'] : [];
    const columns = [...filtersOf(call), ...rare, 'status_timestamp'];
    return !plan.steps.every(enters(columns)) || (plan.sorts.length > 0 && !mayBeSorted);
  });
}

/** Of totals of lists, those that read anything but the matches in an index. */
export function wrongTotals(totals: readonly Explained[]): readonly Explained[] {
  return totals.filter(({ call, plan }) => {
    const since = /since a time/.test(call) ? ['status_timestamp'] : [];
    // In an index of contexts the state stands last, where there is room for it.
    const state = /\bstate\b/.test(call) && !ofContext(call) ? ['state'] : [];
    const columns = [...filtersOf(call), ...state, ...since];
    return !plan.steps.every((step) => step.covering && enters(columns)(step)) || plan.sorts.length > 0;
  });
}

/** Of any plans, those that read a table that grows from end to end, or sort more than they are asked for. */
export function wrongReads(plans: readonly Explained[]): readonly Explained[] {
  return plans.filter(
    ({ plan }) =>
      plan.steps.some(
        ({ table, index, columns }) =>
          GROWING_TABLES.includes(table) && columns.length === 0 && !PARTIAL_INDEXES.includes(index ?? ''),
      ) || plan.sorts.some((rows) => rows !== null && rows > MOST_ROWS),
  );
}

const ofContext = (call: string): boolean => /\bcontext\b/.test(call);
const filtersOf = (call: string): string[] => ['tenant', 'owner', ...(ofContext(call) ? ['context_id'] : [])];
const enters = (columns: readonly string[]) => (step: PlanStep) =>
  step.table === 'tasks' && step.index !== null && columns.every((name) => step.columns.includes(name));
