/** How long the work took, in milliseconds. */
export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const began = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - began) / 1e6;
}

/** Milliseconds of a clock that only goes forward and is the same for all processes of this machine. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** How long each of `count` calls took, one after the other, in milliseconds. */
export async function samplesMs(count: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index += 1) samples.push(await timeMs(() => work(index)));
  return samples;
}
