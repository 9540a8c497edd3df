import { createTestDatabase, type TestDatabase, type TestProvider } from '@a2a-cluster/testing';
import { startReplica, type ReplicaProcess, type StartReplica } from './replica-process.js';

/** Real replicas on one database of their own. */
export interface TestCluster {
  readonly database: TestDatabase;
  readonly replicas: readonly ReplicaProcess[];
  /** Starts one more. */
  add(options?: Omit<StartReplica, 'databaseUrl'>): Promise<ReplicaProcess>;
  /** Ends every process and drops the database. */
  end(): Promise<void>;
}

/** Starts `count` replicas, named `a`, `b`, `c` and so on. */
export async function startCluster(options: {
  readonly provider: TestProvider;
  readonly count: number;
  readonly env?: Readonly<Record<string, string>>;
}): Promise<TestCluster> {
  const { provider, count, env } = options;
  const database = await createTestDatabase({ provider });
  const replicas: ReplicaProcess[] = [];
  const add = async (more: Omit<StartReplica, 'databaseUrl'> = {}): Promise<ReplicaProcess> => {
    const replica = await startReplica({ databaseUrl: database.url, ...more, env: { ...env, ...more.env } });
    replicas.push(replica);
    return replica;
  };
  const end = async (): Promise<void> => {
    await Promise.all(replicas.map((replica) => replica.end()));
    await database.drop();
  };
  try {
    const names = Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));
    await Promise.all(names.map((name) => add({ name })));
    replicas.sort((one, other) => one.name.localeCompare(other.name));
    return { database, replicas, add, end };
  } catch (error) {
    await end();
    throw error;
  }
}
