import type { LoadTask } from '../../world/load.js';

/** How long after a moment the agent of each task was told that its lease is lost; `Infinity`: never. */
export function toldAfterMs(load: readonly LoadTask[], fromMs: number): number[] {
  return load.map(({ taskId, holder }) => {
    const line = holder.logs.find(({ msg, taskId: of }) => msg === 'agent signal fired' && of === taskId);
    return (line?.atMs ?? Number.POSITIVE_INFINITY) - fromMs;
  });
}
