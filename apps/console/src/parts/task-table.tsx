import type { TaskSummary } from '../api/index.js';
import { taskPath, tasksHeldBy } from '../state/paths.js';
import { searchOf, NO_FILTER } from '../state/task-filter.js';
import { StateBadge } from './badge.js';
import { Id } from './id.js';
import { Table, type Column } from './table.js';
import { Ago } from './time.js';

/** A page of tasks. */
export function TaskTable({ tasks }: { readonly tasks: readonly TaskSummary[] }) {
  const tenants = tasks.some(({ tenant }) => tenant !== '');
  const columns = tenants ? COLUMNS : COLUMNS.filter(({ title }) => title !== 'Tenant');
  return (
    <Table caption="Tasks, the newest first" columns={columns} rows={tasks} keyOf={({ taskId }) => taskId} />
  );
}

const COLUMNS: readonly Column<TaskSummary>[] = [
  { title: 'Task', cell: ({ taskId }) => <Id value={taskId} to={taskPath(taskId)} /> },
  { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
  {
    title: 'Holder',
    cell: ({ lease }) =>
      lease === null ? (
        <span class="quiet">no lease</span>
      ) : (
        <Id value={lease.holder} to={tasksHeldBy(lease.holder)} keep={20} />
      ),
  },
  {
    title: 'Owner',
    cell: ({ owner }) => <Id value={owner} to={`/tasks${searchOf({ ...NO_FILTER, owner })}`} keep={20} />,
  },
  { title: 'Tenant', cell: ({ tenant }) => <Id value={tenant} keep={14} /> },
  {
    title: 'Context',
    cell: ({ contextId }) => (
      <Id value={contextId} to={`/tasks${searchOf({ ...NO_FILTER, context: contextId })}`} keep={13} />
    ),
  },
  { title: 'Events', numeric: true, cell: ({ version }) => String(version) },
  { title: 'Created', cell: ({ createdAtMs }) => <Ago atMs={createdAtMs} /> },
  {
    title: 'Last event',
    cell: ({ createdAtMs, ageMs, idleMs }) => <Ago atMs={createdAtMs + ageMs - idleMs} />,
  },
];
