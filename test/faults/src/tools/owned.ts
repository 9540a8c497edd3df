/** What must not outlive the harness: servers and folders that tools have started and made. */
const owned = new Set<() => Promise<void>>();

/** Has `end` called when the harness is ended from outside; the function it gives takes that back. */
export function own(end: () => Promise<void>): () => void {
  owned.add(end);
  return () => void owned.delete(end);
}

/** Ends everything that is still owned, last first. Never rejects. */
export async function endOwned(): Promise<void> {
  const ends = [...owned].reverse();
  owned.clear();
  await Promise.allSettled(ends.map((end) => end()));
}
