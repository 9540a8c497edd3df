import { Agent } from 'undici';
import { inParallel } from '../harness/crowd.js';

/** One request. */
export interface Post {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The floor of deliveries: an undici agent in this process, so many requests in flight, and nothing else: no database,
 * no order, no retry.
 * @throws Error for an answer other than 200.
 */
export async function barePosts(posts: readonly Post[], inFlight: number): Promise<void> {
  // As the delivery's own agent.
  const agent = new Agent({
    connections: inFlight,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: 30_000,
    allowH2: false,
  });
  const work = async ({ url, body, headers }: Post): Promise<void> => {
    const { origin, pathname: path } = new URL(url);
    const answer = await agent.request({ origin, path, method: 'POST', headers, body });
    if (answer.statusCode !== 200) throw new Error(`the sink answers ${answer.statusCode}`);
    await answer.body.dump();
  };
  await inParallel({ items: posts, atATime: inFlight, work });
  await agent.close();
}
