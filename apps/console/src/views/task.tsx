import { useEffect, useMemo } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { readTask } from '../api/client.js';
import type { TaskChange } from '../api/index.js';
import { Page, Section } from '../parts/page.js';
import { Empty, Failed, Loading } from '../parts/states.js';
import { PushList } from '../parts/push-list.js';
import { TaskContent } from '../parts/task-content.js';
import { TaskFacts } from '../parts/task-facts.js';
import { Timeline } from '../parts/timeline.js';
import { changedDetail } from '../state/changed-page.js';
import { databaseNow, monotonicNow } from '../state/clock.js';
import { EventLog } from '../state/event-log.js';
import { onTaskChange, overview, resumed, watchTasks } from '../state/live.js';
import { taskIdOf } from '../state/paths.js';
import type { ReadTask } from '../state/read-task.js';
import { sessionNumber } from '../state/session.js';
import { throttled } from '../state/throttle.js';
import { useResource, type Resource } from '../state/use-resource.js';

/** A task that writes a hundred events a second is read twice a second. */
const READ_AGAIN_MS = 500;

/** One task, live. */
export function TaskView() {
  const [path] = useLocation();
  // Ids are taken from the browser's own path: they may have slashes and escapes.
  const taskId = useMemo(() => taskIdOf(location.pathname), [path]);
  return <OneTask key={taskId} taskId={taskId} />;
}

function OneTask({ taskId }: { readonly taskId: string }) {
  const task = useResource<ReadTask>(taskId, async (signal) => {
    const detail = await readTask(taskId, signal);
    return { detail, readAt: monotonicNow() };
  });
  const { data, failure } = task;
  const log = useLog(taskId, data?.detail.task.version ?? null);
  useLiveTask(taskId, task);
  return (
    <Page title="Task">
      {failure !== null &&
        (failure.status === 404 ? (
          <Missing taskId={taskId} />
        ) : (
          <Failed what="the task" failure={failure} retry={task.reload} />
        ))}
      {failure === null && data === null && <Loading what="the task" />}
      {data !== null && failure?.status !== 404 && <Whole data={data} log={log} reload={task.reload} />}
    </Page>
  );
}

/** The log of a task, following its version. A new token begins a new one. */
function useLog(taskId: string, version: number | null): EventLog {
  const session = sessionNumber.value;
  const log = useMemo(() => new EventLog(taskId), [taskId, session]);
  useEffect(() => () => log.close(), [log]);
  useEffect(() => {
    if (version !== null) log.follow(version);
  }, [log, version]);
  return log;
}

/** Takes what comes live: the state at once, and the whole document once it has changed. */
function useLiveTask(taskId: string, task: Resource<ReadTask>): void {
  const { change, reload } = task;
  useEffect(() => {
    watchTasks([taskId]);
    return () => watchTasks([]);
  }, [taskId]);
  useEffect(() => {
    const take = throttled((news: TaskChange) => {
      change((old) => ({ ...old, detail: changedDetail(old.detail, news, databaseNow()) }));
      reload();
    }, READ_AGAIN_MS);
    const stop = onTaskChange((news) => {
      if (news.taskId === taskId) take(news);
    });
    return () => {
      stop();
      take.stop();
    };
  }, [taskId, change, reload]);
  const round = resumed.value;
  useEffect(() => {
    if (round > 0) reload();
  }, [round]);
}

function Missing({ taskId }: { readonly taskId: string }) {
  return (
    <Empty>
      <p>
        There is no task <code>{taskId}</code>. It may have been deleted, or the id is not whole. See the{' '}
        <Link to="/tasks">list of tasks</Link>.
      </p>
    </Empty>
  );
}

function Whole(props: { readonly data: ReadTask; readonly log: EventLog; readonly reload: () => void }) {
  const { data, log, reload } = props;
  const { detail } = data;
  const mayAct = overview.value?.mayAct ?? false;
  return (
    <>
      <TaskFacts data={data} mayAct={mayAct} reload={reload} />
      <div class="columns">
        <Section id="timeline" title="Timeline">
          <Timeline log={log} pruned={detail.pruned} />
        </Section>
        <div>
          <TaskContent document={detail.document} />
          <Section
            id="push"
            title="Push deliveries"
            aside={
              <button type="button" class="link-button" onClick={reload}>
                Read again
              </button>
            }
          >
            <PushList taskId={detail.task.taskId} push={detail.push} mayAct={mayAct} reload={reload} />
          </Section>
        </div>
      </div>
    </>
  );
}
