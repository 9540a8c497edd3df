import { createSystemClock, type Clock } from '@a2a-cluster/core';
import { describeDatabaseContract } from '../src/contract/index.js';
import type { ContractFixture } from '../src/contract/fixture.js';
import { memoryDatabaseOver } from '../src/memory/statements.js';
import { MemoryTables } from '../src/memory/tables.js';

function memoryFixture(clock: Clock): ContractFixture {
  const tables = new MemoryTables(clock);
  const db = memoryDatabaseOver(tables);
  return {
    db,
    tamper: {
      deleteTask: async (taskId) => void tables.tasks.delete(taskId),
      setState: async (taskId, state) => {
        const task = tables.tasks.get(taskId);
        if (task) task.state = state;
      },
      agePushes: async (taskId, ms) => {
        for (const record of tables.pushConfigs.get(taskId)?.values() ?? []) {
          record.changedAtMs -= ms;
          if (record.dueAtMs !== null) record.dueAtMs -= ms;
          if (record.failingSinceMs !== null) record.failingSinceMs -= ms;
        }
        for (const record of tables.deadLetters)
          if (record.letter.taskId === taskId && record.dueAtMs !== null) record.dueAtMs -= ms;
      },
      setCreated: async (taskId, atMs) => {
        const task = tables.tasks.get(taskId);
        if (task) tables.tasks.set(taskId, { ...task, createdAtMs: atMs });
      },
      ageReplica: async (replicaId, ms) => {
        const row = tables.replicas.get(replicaId);
        if (!row) return;
        const startedAtMs = row.startedAtMs - ms;
        tables.replicas.set(replicaId, { ...row, startedAtMs, beatAtMs: row.beatAtMs - ms });
      },
      clearPushes: async () => {
        tables.pushConfigs.clear();
        tables.deadLetters = [];
      },
    },
    close: () => db.close(),
  };
}

describeDatabaseContract({ name: 'memory', open: async () => memoryFixture(createSystemClock()) });

describeDatabaseContract({
  name: 'memory, with a clock of the test',
  open: async () => {
    let nowMs = 0;
    const clock: Clock = { ...createSystemClock(), monotonicMs: () => nowMs };
    return { ...memoryFixture(clock), elapse: async (ms) => void (nowMs += ms) };
  },
});
