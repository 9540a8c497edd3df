import type { Recorder } from './recorder.js';
import type { Replica } from './replica.js';
import { fileHandles, residentBytes } from '../tools/processes.js';
import { nowMs } from './now.js';

const EVERY_MS = 1_000;

/** Writes down once a second what every replica uses; the function it gives ends that. */
export function startSampling(world: {
  readonly recorder: Recorder;
  readonly replicas: readonly Replica[];
}): () => Promise<void> {
  const timer = setInterval(() => {
    for (const replica of world.replicas) if (replica.alive) sample(replica, world.recorder);
  }, EVERY_MS);
  return async () => clearInterval(timer);
}

function sample(replica: Replica, recorder: Recorder): void {
  const bytes = residentBytes(replica.pid);
  const handles = fileHandles(replica.pid);
  if (bytes === null || handles === null) return;
  recorder.samples.push({
    atMs: nowMs(),
    replica: replica.name,
    residentBytes: bytes,
    fileHandles: handles,
  });
}
