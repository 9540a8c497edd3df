import type { PushConfigQueries, PushConfigRow } from '../statements/task-queries.js';
import type { PortableClient, PrismaProvider, PushConfigRecord } from './portable-client.js';
import { guarded } from './prisma-faults.js';
import { savePushConfig } from './save-push-config.js';

/** Push configs through Prisma, the same on every SQL database. */
export function createPushConfigQueries(client: PortableClient, provider: PrismaProvider): PushConfigQueries {
  return {
    save: (row) => savePushConfig({ client, provider, row }),
    async load({ taskId, scope }) {
      const where = { taskId, tenant: scope.tenant, owner: scope.owner };
      const rows = await guarded({
        name: 'loadPushConfigs',
        writes: false,
        run: () =>
          client.pushConfig.findMany({ where, orderBy: [{ createdAt: 'asc' }, { configId: 'asc' }] }),
      });
      return rows.map(toRow);
    },
    async remove({ taskId, scope, configId }) {
      const where = {
        ...{ taskId, tenant: scope.tenant, owner: scope.owner },
        ...(configId !== undefined && { configId }),
      };
      await guarded({
        name: 'removePushConfigs',
        writes: true,
        run: () => client.pushConfig.deleteMany({ where }),
      });
      // After the configs, without which none is added any more.
      await guarded({
        name: 'removePushConfigs',
        writes: true,
        run: () => client.pushDeadLetter.deleteMany({ where }),
      });
    },
  };
}

function toRow(record: PushConfigRecord): PushConfigRow {
  const { taskId, configId, tenant, owner, payload, wireVersion, origin } = record;
  return { taskId, configId, scope: { tenant, owner }, payload, wireVersion, origin };
}
