import type { Database } from '../database.js';
import { createMemoryJournal } from './journal.js';
import { createMemoryLeases } from './leases.js';
import { createMemoryLog } from './log.js';
import { createMemoryOperators } from './operators.js';
import { createMemoryPushConfigs } from './push-configs.js';
import { createMemoryPushQueue } from './push-queue.js';
import { createMemoryReplicas } from './replicas.js';
import { guardOperatorQueries } from '../statements/find-tasks.js';
import { createMemoryTasks } from './queries.js';
import { createMemoryRetention } from './retention.js';
import type { MemoryTables } from './tables.js';

/** A database over given tables: for tests that look at the rows or change them behind the statements' back. */
export function memoryDatabaseOver(tables: MemoryTables): Database {
  return {
    provider: 'memory',
    journal: createMemoryJournal(tables),
    leases: createMemoryLeases(tables),
    log: createMemoryLog(tables),
    tasks: createMemoryTasks(tables),
    pushConfigs: createMemoryPushConfigs(tables),
    pushQueue: createMemoryPushQueue(tables),
    replicas: createMemoryReplicas(tables),
    operators: guardOperatorQueries(createMemoryOperators(tables)),
    retention: createMemoryRetention(tables),
    hints: { kind: 'none' },
    check: async () => ({ warnings: [] }),
    ping: async () => {},
    close: async () => {},
  };
}
