/** Does something `count` times, never more than `width` of them at once, and waits for all. */
export async function inFlight(
  { count, width }: { readonly count: number; readonly width: number },
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}
