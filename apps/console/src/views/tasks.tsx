import { useEffect, useRef } from 'preact/hooks';
import { useLocation, useSearch } from 'wouter-preact';
import { useHistoryState } from 'wouter-preact/use-browser-location';
import { readTasks } from '../api/client.js';
import type { TaskPage } from '../api/index.js';
import { Page } from '../parts/page.js';
import { Empty, Failed, Loading } from '../parts/states.js';
import { TaskFilters } from '../parts/task-filters.js';
import { TaskTable } from '../parts/task-table.js';
import { onTaskChange, overview, resumed, watchTasks } from '../state/live.js';
import { databaseNow } from '../state/clock.js';
import { changedPage } from '../state/changed-page.js';
import { conditionsOf, cursorOf, filterOf, searchOf, type TaskFilter } from '../state/task-filter.js';
import { useResource, type Resource } from '../state/use-resource.js';
import { plural } from '../text/format.js';

/** The tasks, newest first, a page at a time; what is shown of each is kept up to date. */
export function TasksView() {
  const search = useSearch();
  const filter = filterOf(search);
  const cursor = cursorOf(search);
  const page = useResource(searchOf(filter, cursor), (signal) => readTasks(filter, cursor, signal));
  useLiveRows(page);
  return (
    <Page title="Tasks" aside={<News page={page} cursor={cursor} />}>
      <TaskFilters key={searchOf(filter)} filter={filter} />
      <Rows page={page} filter={filter} cursor={cursor} />
    </Page>
  );
}

/** Watches the rows that are shown; when the stream was away, reads them again. */
function useLiveRows(page: Resource<TaskPage>): void {
  const ids = page.data?.tasks.map(({ taskId }) => taskId) ?? [];
  const { change, reload } = page;
  useEffect(() => watchTasks(ids), [ids.join(' ')]);
  useEffect(() => () => watchTasks([]), []);
  useEffect(() => onTaskChange((news) => change((old) => changedPage(old, news, databaseNow()))), [change]);
  const round = resumed.value;
  useEffect(() => {
    if (round > 0) reload();
  }, [round]);
}

function Rows(props: {
  readonly page: Resource<TaskPage>;
  readonly filter: TaskFilter;
  readonly cursor: string | null;
}) {
  const { page, filter, cursor } = props;
  const { data, failure, reload } = page;
  if (failure !== null) return <Failed what="the tasks" failure={failure} retry={reload} />;
  if (data === null) return <Loading what="the tasks" />;
  const narrowed = conditionsOf(filter) > 0;
  return (
    <>
      {data.tasks.length === 0 ? (
        <Empty>
          {cursor !== null ? (
            <p>There are no older tasks.</p>
          ) : narrowed ? (
            <p>No task fits. Take a condition away to see more.</p>
          ) : (
            <p>There are no tasks yet. A task appears here as soon as an agent gets its first message.</p>
          )}
        </Empty>
      ) : (
        <TaskTable tasks={data.tasks} />
      )}
      <Pages filter={filter} cursor={cursor} next={data.nextCursor} shown={data.tasks.length} />
    </>
  );
}

/** The cursors of the pages before this one, the first page's not among them. Kept in the entry of the history. */
function trailOf(state: unknown): readonly string[] {
  const trail = (state as { trail?: unknown } | null)?.trail;
  return Array.isArray(trail) ? trail.filter((entry) => typeof entry === 'string') : [];
}

function Pages(props: {
  readonly filter: TaskFilter;
  readonly cursor: string | null;
  readonly next: string | null;
  readonly shown: number;
}) {
  const { filter, cursor, next, shown } = props;
  const [, navigate] = useLocation();
  const trail = trailOf(useHistoryState());
  const to = (target: string | null, visited: readonly string[]): void => {
    navigate(`/tasks${searchOf(filter, target)}`, { state: { trail: visited } });
    window.scrollTo({ top: 0 });
  };
  if (cursor === null && next === null)
    return <p class="quiet pages">{plural(shown, 'task')}, all there are.</p>;
  return (
    <nav class="pages" aria-label="Pages of the list">
      <button type="button" class="button" disabled={cursor === null} onClick={() => to(null, [])}>
        Newest
      </button>
      <button
        type="button"
        class="button"
        disabled={trail.length === 0}
        onClick={() => to(trail.at(-2) ?? null, trail.slice(0, -1))}
      >
        Newer
      </button>
      <button
        type="button"
        class="button"
        disabled={next === null}
        onClick={() => to(next, [...trail, next ?? ''])}
      >
        Older
      </button>
    </nav>
  );
}

/** Says that there is more than what is shown; a page that moved under the reader's eyes would be worse. */
function News({ page, cursor }: { readonly page: Resource<TaskPage>; readonly cursor: string | null }) {
  const started = overview.value?.totals.turnsStarted ?? null;
  const seen = useRef<number | null>(null);
  // What had started when a page came is on it, or older than it.
  const read = useRef<readonly unknown[] | null>(null);
  const rows = page.loading ? null : (page.data?.tasks ?? null);
  if (seen.current === null || (page.loading && read.current !== null)) seen.current = started;
  read.current = rows;
  const more = cursor === null && started !== null ? started - (seen.current ?? started) : 0;
  return (
    <button type="button" class={`button ${more > 0 ? 'button-news' : ''}`} onClick={page.reload}>
      {more > 0 ? `${plural(more, 'turn')} started, read again` : 'Read again'}
    </button>
  );
}
