/**
 * What the queries here need of a generated Prisma client: the part that is the same for all three databases. Each
 * provider hands in its own client; the compiler proves at those three places that they fit.
 */
export interface PortableClient {
  readonly task: {
    findMany(args: { where: TaskWhere; orderBy: TaskOrder[]; take: number }): PromiseLike<TaskRecord[]>;
    count(args: { where: TaskWhere }): PromiseLike<number>;
  };
  readonly pushConfig: {
    findMany(args: { where: PushConfigWhere; orderBy: PushConfigOrder[] }): PromiseLike<PushConfigRecord[]>;
    findFirst(args: {
      where: PushConfigWhere;
      orderBy: PushConfigOrder[];
    }): PromiseLike<PushConfigRecord | null>;
    create(args: { data: Omit<PushConfigRecord, 'createdAt'> }): PromiseLike<PushConfigRecord>;
    updateMany(args: {
      where: PushConfigWhere;
      data: Partial<PushConfigRecord>;
    }): PromiseLike<{ count: number }>;
    deleteMany(args: { where: PushConfigWhere }): PromiseLike<{ count: number }>;
  };
  $queryRawUnsafe<T>(query: string, ...values: unknown[]): PromiseLike<T>;
}

/** The providers that generated clients exist for. */
export type PrismaProvider = 'sqlite' | 'postgresql' | 'mysql';

/** Conditions on tasks. */
export interface TaskWhere {
  tenant?: string;
  owner?: string;
  contextId?: string;
  state?: string;
  id?: { lt: string };
  statusTimestamp?: string | null | { gt: string; lte?: string };
  AND?: TaskWhere[];
  OR?: { statusTimestamp?: string | null | { lt: string }; id?: { lt: string } }[];
}

/** Orders of tasks. */
export interface TaskOrder {
  statusTimestamp?: 'desc';
  id?: 'desc';
}

/** A row of `tasks`. */
export interface TaskRecord {
  id: string;
  tenant: string;
  owner: string;
  contextId: string;
  state: string;
  statusTimestamp: string | null;
  version: number;
}

/** Conditions on push configs. */
export interface PushConfigWhere {
  taskId: string | { in: string[] };
  configId?: string;
  tenant?: string;
  owner?: string;
}

/** Orders of push configs. */
export interface PushConfigOrder {
  createdAt?: 'asc' | 'desc';
  configId?: 'asc';
}

/** A row of `push_notification_configs`. */
export interface PushConfigRecord {
  taskId: string;
  configId: string;
  tenant: string;
  owner: string;
  url: string;
  payload: string;
  wireVersion: string;
  createdAt: Date;
}
