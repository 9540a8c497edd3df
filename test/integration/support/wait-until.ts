/** Asks again and again, a little apart, until the answer is not undefined; rejects with `what` after the limit. */
export async function waitUntil<T>(options: {
  readonly what: string;
  readonly limitMs: number;
  ask(): Promise<T | undefined>;
}): Promise<T> {
  const deadline = performance.now() + options.limitMs;
  for (;;) {
    const answer = await options.ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline)
      throw new Error(`it did not come to pass in ${options.limitMs} ms: ${options.what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
