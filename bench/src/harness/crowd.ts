import { subscribe, type OpenStream } from './client.js';
import { nowMs } from './time.js';

/** One subscriber of a crowd. */
interface Member {
  readonly stream: OpenStream;
  frames: number;
  lastMs: number;
}

/** Many subscribers in this process. */
export interface Crowd {
  readonly size: number;
  /** One more subscriber of each of the tasks; resolves when each has been sent its task. */
  join(taskIds: readonly string[]): Promise<void>;
  /** Resolves when every stream has ended, with the time the last frame came; rejects when a frame is missing. */
  ended(): Promise<number>;
  /** All go away. */
  close(): void;
}

/** How many subscribe at a time. */
const AT_A_TIME = 50;
/** The task as it is, and the event that ends it. */
const FRAMES = 2;

/** A crowd on one server that waits for the end of its tasks. */
export function createCrowd(port: number): Crowd {
  const members: Member[] = [];
  return {
    get size() {
      return members.length;
    },
    join: (taskIds) =>
      inParallel({ items: taskIds, atATime: AT_A_TIME, work: (taskId) => joinOne(port, taskId, members) }),
    ended: async () => {
      const frames = await Promise.all(members.map(({ stream }) => stream.ended));
      const wrong = frames.filter((count) => count !== FRAMES).length;
      if (wrong > 0) throw new Error(`${wrong} of ${frames.length} subscribers did not get ${FRAMES} frames`);
      return members.reduce((latest, { lastMs }) => Math.max(latest, lastMs), 0);
    },
    close: () => {
      for (const { stream } of members) stream.close();
    },
  };
}

function joinOne(port: number, taskId: string, members: Member[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const onFrame = (): void => {
      member.frames += 1;
      member.lastMs = nowMs();
      if (member.frames === 1) resolve();
    };
    const member: Member = { stream: subscribe({ port, taskId, onFrame }), frames: 0, lastMs: 0 };
    members.push(member);
    member.stream.ended.then(() => reject(new Error('a stream ended before its first frame')), reject);
  });
}

/** Works through the items, so many at a time. */
export async function inParallel<Item>(options: {
  readonly items: readonly Item[];
  readonly atATime: number;
  readonly work: (item: Item) => Promise<unknown>;
}): Promise<void> {
  const { items, atATime, work } = options;
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}
