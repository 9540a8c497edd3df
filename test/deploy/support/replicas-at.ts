import { spawn } from 'node:child_process';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';
import { ReplicaProcess } from '../../integration/support/replica-process.js';

/** The token of the operators' door, on every replica of these tests. */
export const OPERATOR_TOKEN = 'operators-of-the-test';

/** What {@link startReplicaAt} is told. */
export interface ReplicaAt {
  readonly host: string;
  readonly name: string;
  readonly databaseUrl: string;
  /** The folder the replica runs from. Default: the workspace's own build. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whom it runs as; absent: as who runs the test. */
  readonly uid?: number;
}

/** Starts a replica with the ports that `deploy` names, on an address of its own, and waits until it is ready. */
export async function startReplicaAt(options: ReplicaAt): Promise<ReplicaProcess> {
  const { host, name, databaseUrl, folder, env, uid } = options;
  const home = folder ?? path.join(workspaceRoot, 'apps/clustermode');
  const child = spawn(process.execPath, ['bin/clustermode.js', 'serve'], {
    cwd: home,
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl,
      HOST: host,
      PORT: '41241',
      OPERATOR_HOST: host,
      OPERATOR_PORT: '41242',
      OPERATOR_TOKEN,
      REPLICA_ID: name,
      LOG_LEVEL: 'debug',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const replica = new ReplicaProcess(child, `http://${host}:41241`, name);
  const failed = replica.exited.then((code) => {
    const said = [...replica.errors, ...replica.logs.map((line) => JSON.stringify(line))].slice(-10);
    throw new Error(`the replica ended with ${code} before it was ready:\n${said.join('\n')}`);
  });
  await Promise.race([replica.log((line) => line.msg === 'the replica is running'), failed]);
  failed.catch(() => {});
  return replica;
}
