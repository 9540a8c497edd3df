/**
 * What the queries here need of a generated Prisma client: the part that is the same for all three databases. Each
 * provider hands in its own client; the compiler proves at those three places that they fit.
 */
export interface PortableClient {
  readonly pushConfig: {
    findMany(args: { where: PushConfigWhere; orderBy: PushConfigOrder[] }): PromiseLike<PushConfigRecord[]>;
    findFirst(args: {
      where: PushConfigWhere;
      orderBy: PushConfigOrder[];
    }): PromiseLike<PushConfigRecord | null>;
    create(args: {
      data: Omit<PushConfigRecord, 'createdAt'> & { position: number };
    }): PromiseLike<PushConfigRecord>;
    updateMany(args: {
      where: PushConfigWhere;
      data: Partial<PushConfigRecord>;
    }): PromiseLike<{ count: number }>;
    deleteMany(args: { where: PushConfigWhere }): PromiseLike<{ count: number }>;
  };
  readonly pushDeadLetter: {
    deleteMany(args: { where: PushConfigWhere }): PromiseLike<{ count: number }>;
  };
  readonly task: {
    findFirst(args: { where: { id: string } }): PromiseLike<{ version: number } | null>;
  };
  $executeRawUnsafe(query: string, ...values: unknown[]): PromiseLike<number>;
  $queryRawUnsafe<T>(query: string, ...values: unknown[]): PromiseLike<T>;
}

/** The providers that generated clients exist for. */
export type PrismaProvider = 'sqlite' | 'postgresql' | 'mysql';

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

/** A row of `push_notification_configs`, without its deliveries. */
export interface PushConfigRecord {
  taskId: string;
  configId: string;
  tenant: string;
  owner: string;
  url: string;
  payload: string;
  wireVersion: string;
  origin: string;
  createdAt: Date;
}
