import { Random } from '@a2a-cluster/testing';
import { BEGAN_MS, HistoryBuilder } from './build-history.js';

/** How a turn ends. */
type Ending = 'complete' | 'ask' | 'cancel' | 'crash';

/**
 * Random turns of a few tasks, with everybody who could see them: callers, subscribers, a webhook. Replicas that are
 * killed run one turn only; r1 and r2 live and sweep. What it makes keeps every promise.
 */
export function randomHistory(seed: number): HistoryBuilder {
  const random = new Random(seed);
  const built = new HistoryBuilder('r1', 'r2');
  const tasks = 1 + random.int(0, 2);
  for (let index = 0; index < tasks; index += 1) new RandomTask(built, random, `t${index}`).run();
  return built;
}

class RandomTask {
  private at: number;

  constructor(
    private readonly built: HistoryBuilder,
    private readonly random: Random,
    private readonly taskId: string,
  ) {
    this.at = 1_000 + random.int(0, 500);
  }

  run(): void {
    const { built, random, taskId } = this;
    const pushed = random.chance(0.5);
    if (pushed) built.config(taskId, `hook-${taskId}`, this.at - 300);
    for (let turns = 1; this.turn(turns) === 'ask' && turns < 3; turns += 1);
    this.subscribe();
    if (pushed) this.push(`hook-${taskId}`);
  }

  private turn(number: number): Ending {
    const { built, random, taskId } = this;
    const ending = random.pick<Ending>(['complete', 'ask', 'cancel', 'crash']);
    const holder = ending === 'crash' ? `r${built.replicas.length + 1}` : random.pick(['r1', 'r2']);
    if (ending === 'crash') built.replica(holder);
    const first = built.rowsOf(taskId).length;
    const messageId = this.begin(number, holder);
    this.work(holder);
    const before = built.rowsOf(taskId).slice(first);
    this.end(ending, holder);
    const rows = built.rowsOf(taskId).slice(first);
    const caller = built.sent(taskId, holder, { rows: ending === 'crash' ? before : rows, messageId });
    if (ending === 'crash') caller.ended = { atMs: BEGAN_MS + this.at - 2_880, how: 'broken' };
    return ending;
  }

  private begin(number: number, holder: string): string {
    const { built, taskId } = this;
    if (number === 1) return built.open(taskId, holder, this.next()).messageId ?? '';
    const { messageId } = built.followUp(taskId, holder, this.next());
    built.echo(taskId, holder, this.next());
    return messageId ?? '';
  }

  private work(holder: string): void {
    const { built, random, taskId } = this;
    const ticks = 1 + random.int(0, 3);
    for (let i = 1; i <= ticks; i += 1)
      built.say(taskId, holder, this.next(), ['WORKING', `tick ${i}/${ticks}`]);
    const chunks = random.int(0, 3);
    for (let i = 1; i <= chunks; i += 1) built.chunk(taskId, holder, this.next(), i);
  }

  private end(ending: Ending, holder: string): void {
    const { built, random, taskId } = this;
    switch (ending) {
      case 'complete':
        return void built.say(taskId, holder, this.next(), ['COMPLETED', 'done']);
      case 'ask':
        return void built.say(taskId, holder, this.next(), ['INPUT_REQUIRED', 'Which one?']);
      case 'cancel':
        return void built.canceled(taskId, random.pick(['r1', 'r2']), this.next());
      case 'crash':
        built.kill(holder, this.next());
        this.at += 2_850;
        return void built.swept(taskId, random.pick(['r1', 'r2']), this.next());
    }
  }

  /** Subscriptions from anywhere, each up to where it ends. */
  private subscribe(): void {
    const { built, random, taskId } = this;
    const rows = built.rowsOf(taskId);
    const ends = rows.filter(({ payload }) =>
      /"state":"TASK_STATE_(COMPLETED|FAILED|CANCELED|INPUT_REQUIRED)"/.test(payload),
    );
    for (let count = random.int(0, 3); count > 0; count -= 1) {
      const from = 1 + random.int(0, rows.length - 1);
      const end = ends.find(({ seq, kind }) => seq > from && kind === 'statusUpdate');
      if (end) built.subscribed(taskId, random.pick(['r1', 'r2']), { from, to: end.seq });
    }
  }

  /** Some are refused for a while before they are accepted. */
  private push(hook: string): void {
    const { built, random, taskId } = this;
    const rows = built.rowsOf(taskId);
    for (const row of rows) {
      if (random.chance(0.3)) built.attempt(hook, row, { atMs: row.createdAtMs + 15, answer: 500 });
      built.pushed(taskId, hook, [row]);
    }
  }

  private next(): number {
    this.at += 20 + this.random.int(0, 60);
    return this.at;
  }
}
