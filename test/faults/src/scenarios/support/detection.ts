import type { World } from '../../world/world.js';

/** How long every turn of a killed replica went on in the tables until somebody ended it. */
export async function detectionsMs(world: World): Promise<number[]> {
  const { events } = await world.database.read(await world.database.aheadMs());
  const killedAt = new Map(
    world.recorder.faults.flatMap(({ kind, replica, fromMs }) => {
      const boot = world.recorder.replicas.find(({ name }) => name === replica);
      return kind === 'kill' && boot?.holder ? [[boot.holder, fromMs] as const] : [];
    }),
  );
  return events.flatMap((row, index) => {
    const before = events[index - 1];
    if (!before || before.taskId !== row.taskId || !row.payload.includes('"replica_lost"')) return [];
    const killedAtMs = killedAt.get(before.holder);
    return killedAtMs === undefined ? [] : [row.createdAtMs - killedAtMs];
  });
}
