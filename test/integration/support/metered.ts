import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ClusterOptions } from '@a2a-cluster/cluster';
import { createSilentLogger } from '@a2a-cluster/core';
import { loadConfig } from '../../../apps/clustermode/src/config.js';
import { composeOperator } from '../../../apps/clustermode/src/operator/compose-operator.js';
import { createTelemetryMetrics } from '../../../apps/clustermode/src/operator/telemetry-metrics.js';
import { startInProcess, type InProcessReplica } from './replica-in-process.js';

/** The values of all series of a scrape, by `name{label="value"}`. */
export type Scrape = ReadonlyMap<string, number>;

/** A replica in this process whose metrics are read as Prometheus does. */
export interface MeteredReplica extends InProcessReplica {
  scrape(): Promise<Scrape>;
  /** `GET` on the listener of the operator. */
  get(path: string): Promise<Response>;
}

/** Starts one, with the operator's listener of the command line beside it. */
export async function startMetered(
  options: Partial<ClusterOptions> & Pick<ClusterOptions, 'executor'>,
): Promise<MeteredReplica> {
  const telemetry = createTelemetryMetrics();
  const replica = await startInProcess({ ...options, telemetry: telemetry.telemetry });
  const { config } = loadConfig({ env: {} });
  if (config === undefined) throw new Error('the defaults are no configuration');
  const log = createSilentLogger();
  const { app } = composeOperator({ cluster: replica.cluster, config, log, telemetry });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const get = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  return {
    ...replica,
    get,
    scrape: async () => samplesOf(await (await get('/metrics')).text()),
    async close(close) {
      await replica.close(close);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The samples of a text in the form of Prometheus. */
export function samplesOf(text: string): Scrape {
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}
