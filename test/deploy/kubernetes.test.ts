import { describe, expect, test } from '@jest/globals';
import { createRequire } from 'node:module';
import { settingNames } from '../../apps/clustermode/src/settings.js';
import { deployFile } from './support/deploy-file.js';
import { manifestFiles, manifestOf, manifests, manifestsIn, type Manifest } from './support/manifests.js';

const require = createRequire(import.meta.url);
/** What a close takes after the drain: protocol 10. */
const CLOSE_MS = 5_000;
const ROUTES = new Set(['/livez', '/readyz']);

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: { readonly limits: Record<string, string>; readonly requests: Record<string, string> };
  readonly securityContext: Record<string, unknown>;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly startupProbe: Probe;
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Record<string, unknown>;
  readonly automountServiceAccountToken: boolean;
  readonly containers: readonly [Container];
}

const podOf = (kind: 'Deployment' | 'Job'): { labels: Record<string, string>; spec: PodSpec } => {
  const { template } = manifestOf(kind)['spec'] as {
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
  };
  return { labels: template.metadata.labels, spec: template.spec };
};

/** The schema of Kubernetes for an object, from the package `kubernetes-models`. */
function validate(manifest: Manifest): void {
  const { apiVersion, kind } = manifest;
  const models = require(`kubernetes-models/${apiVersion}`) as Record<
    string,
    new (data: unknown) => { validate(): void }
  >;
  const Model = models[kind];
  if (Model === undefined) throw new Error(`Kubernetes has no ${kind} in ${apiVersion}`);
  new Model(manifest).validate();
}

describe('the manifests', () => {
  const objects = manifests.filter(({ kind }) => kind !== 'Kustomization');

  test.each(objects)('$kind of $apiVersion is what Kubernetes takes', (manifest) => {
    expect(() => validate(manifest)).not.toThrow();
  });

  test('a mistake in one would be found', () => {
    const wrong = structuredClone(manifestOf('Deployment')) as unknown as {
      spec: { replicas: unknown };
    };
    wrong.spec.replicas = 'three';
    expect(() => validate(wrong as unknown as Manifest)).toThrow('spec/replicas must be integer');
  });

  test('the kustomization lists every file but the job, which runs before it', () => {
    const [{ resources }] = manifestsIn('kustomization.yaml') as unknown as [{ resources: string[] }];
    const others = manifestFiles.filter((name) => !['kustomization.yaml', 'migrate-job.yaml'].includes(name));
    expect([...resources].sort()).toEqual(others);
  });
});

describe('a replica in Kubernetes', () => {
  const { labels, spec } = podOf('Deployment');
  const [container] = spec.containers;
  const settings = manifestOf('ConfigMap')['data'] as Record<string, string>;
  const secrets = manifestOf('Secret')['stringData'] as Record<string, string>;

  test('is given time to leave: preStop, the drain, the close, and some to spare', () => {
    const [program, seconds] = container.lifecycle?.preStop.exec.command ?? [];
    expect(program).toBe('sleep');
    const neededMs = Number(seconds) * 1_000 + Number(settings['DRAIN_TIMEOUT_MS']) + CLOSE_MS;
    expect(spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(neededMs);
  });

  test('is probed at routes there are, by names of ports there are', () => {
    const ports = new Set(container.ports?.map(({ name }) => name));
    for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
      expect(ROUTES).toContain(probe.httpGet.path);
      expect(ports).toContain(probe.httpGet.port);
    }
    expect(container.readinessProbe.httpGet.path).toBe('/readyz');
    // A database that is away must not have every replica restarted.
    expect(container.livenessProbe.httpGet.path).toBe('/livez');
  });

  test('is told only of settings there are, and its ports are those it listens on', () => {
    const names = [
      ...Object.keys(settings),
      ...Object.keys(secrets),
      ...(container.env ?? []).map(({ name }) => name),
    ];
    expect(names.filter((name) => !(settingNames as readonly string[]).includes(name))).toEqual([]);
    const ports = Object.fromEntries(container.ports?.map((port) => [port.name, port.containerPort]) ?? []);
    expect(ports).toEqual({
      http: Number(settings['PORT']),
      operator: Number(settings['OPERATOR_PORT']),
    });
    expect(deployFile('Dockerfile')).toContain(`EXPOSE ${Object.values(ports).join(' ')}`);
  });

  test('is found by its services, the job is not', () => {
    const services = manifests.filter(({ kind }) => kind === 'Service');
    expect(services).toHaveLength(2);
    for (const service of services) {
      const { selector, ports } = service['spec'] as {
        selector: Record<string, string>;
        ports: { targetPort: string }[];
      };
      expect(labels).toMatchObject(selector);
      expect(podOf('Job').labels).not.toMatchObject(selector);
      expect(container.ports?.map(({ name }) => name)).toContain(ports[0]?.targetPort);
    }
    const budget = manifestOf('PodDisruptionBudget')['spec'] as { selector: { matchLabels: object } };
    expect(labels).toMatchObject(budget.selector.matchLabels);
  });

  test.each(['Deployment', 'Job'] as const)('runs as nobody and writes nothing but /tmp: %s', (kind) => {
    const pod = podOf(kind).spec;
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: expect.any(Number) },
    });
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(Object.keys(pod.containers[0].resources.limits)).toEqual(['memory']);
  });

  test('no secret is a value that works', () => {
    for (const value of Object.values(secrets)) expect(value).toContain('REPLACE-ME');
  });

  test('the ingress neither buffers streams nor cuts silent ones', () => {
    const { annotations } = manifestOf('Ingress').metadata as { annotations: Record<string, string> };
    const at = (name: string): string | undefined => annotations[`nginx.ingress.kubernetes.io/${name}`];
    expect(at('proxy-buffering')).toBe('off');
    expect(Number(at('proxy-read-timeout'))).toBeGreaterThanOrEqual(3_600);
    expect(at('proxy-next-upstream')).not.toContain('non_idempotent');
  });
});
