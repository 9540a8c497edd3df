import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '@a2a-cluster/core';
import type { TaskChange } from '@a2a-cluster/console/api';
import { sendRestProblem, unavailable } from '../front/problem.js';
import { visitorOf } from './door.js';
import type { ConsoleHub } from './hub.js';
import { queryOf, watchQuestion } from './query.js';
import type { ConsoleSource } from './source.js';
import { taskChange } from './views.js';

/** Options of {@link liveRoute}. */
export interface LiveOptions {
  readonly source: ConsoleSource;
  readonly hub: ConsoleHub;
  readonly clock: Clock;
  /** Between two signs of life; default 15 s. */
  readonly aliveMs?: number;
}

const DEFAULT_ALIVE_MS = 15_000;
/** Seconds after which a page that found no place may try again. */
const RETRY_AFTER_S = 10;

/** `GET live`: the overview at once and when it changes, and what changes about the tasks that are named. */
export function liveRoute(options: LiveOptions): RequestHandler {
  return (req, res) => {
    const taskIds = watchQuestion(queryOf(req));
    const page = new LivePage(res, { ...options, mayAct: visitorOf(res).mayAct });
    const place = options.hub.open(page);
    if (typeof place === 'string') return noPlace({ req, res, place });
    page.begin(taskIds, place);
  };
}

function noPlace(refused: { req: Request; res: Response; place: 'full' | 'closed' }): void {
  const { req, res, place } = refused;
  const why =
    place === 'full'
      ? 'Too many pages follow this replica: close some, or try again; another replica may have room.'
      : 'This replica is closing.';
  res.setHeader('Retry-After', String(RETRY_AFTER_S));
  sendRestProblem(req, res, { ...unavailable(why), reason: place === 'full' ? 'TOO_MANY_PAGES' : 'CLOSING' });
}

/**
 * One open page. What its client does not take is not queued: of overviews it gets the newest when it reads again, and
 * of each task the last change, so it holds as much as the tasks it watches, however slow it is.
 */
class LivePage {
  private readonly changes = new Map<string, TaskChange>();
  private stale = false;
  private blocked = false;
  private ended = false;
  private leave: (() => void)[] = [];

  constructor(
    private readonly res: Response,
    private readonly options: LiveOptions & { readonly mayAct: boolean },
  ) {}

  begin(taskIds: readonly string[], leaveHub: () => void): void {
    const { res, options } = this;
    const { clock, aliveMs = DEFAULT_ALIVE_MS } = options;
    res.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
    res.flushHeaders();
    const { tasks } = options.source.operator;
    const onHead: Parameters<typeof tasks.watch>[0]['onHead'] = (taskId, head) => {
      this.changes.set(taskId, taskChange(taskId, head));
      this.flush();
    };
    const alive = setAgain(clock, aliveMs, () => this.beat());
    this.leave = [leaveHub, alive, ...(taskIds.length === 0 ? [] : [tasks.watch({ taskIds, onHead })])];
    res.on('drain', () => {
      this.blocked = false;
      this.flush();
    });
    res.once('close', () => this.free());
    this.changed();
  }

  changed(): void {
    this.stale = true;
    this.flush();
  }

  closed(): void {
    this.free();
    this.res.end();
  }

  private flush(): void {
    while (!this.blocked && !this.ended) {
      const [change] = this.changes.values();
      if (change !== undefined) {
        this.changes.delete(change.taskId);
        this.write(event('task', JSON.stringify(change)));
      } else if (this.stale) {
        this.stale = false;
        this.write(event('overview', this.options.hub.text(this.options.mayAct)));
      } else return;
    }
  }

  /** A client that takes nothing from one sign of life to the next is gone, or as good as. */
  private beat(): void {
    if (this.blocked) this.res.destroy();
    else this.write(':\n\n');
  }

  private write(text: string): void {
    if (!this.ended) this.blocked = !this.res.write(text);
  }

  private free(): void {
    this.ended = true;
    for (const leave of this.leave.splice(0)) leave();
  }
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

function setAgain(clock: Clock, everyMs: number, work: () => void): () => void {
  let timer = clock.setTimer(everyMs, again);
  function again(): void {
    timer = clock.setTimer(everyMs, again);
    work();
  }
  return () => timer.cancel();
}
