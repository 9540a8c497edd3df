import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { createSilentLogger } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { createTestDatabase, hasTools, workspaceRoot } from '@a2a-cluster/testing';
import { createDemoAgent } from '../../apps/clustermode/src/agent/demo-agent.js';
import { clusterReadings } from '../../apps/clustermode/src/operator/cluster-readings.js';
import { startMetered } from './support/metered.js';
import { startReplica } from './support/replica-process.js';
import { waitUntil } from './support/wait-until.js';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly Panel[];
}

/** Of other exporters. */
const FOREIGN = ['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes'];

const read = (file: string): Promise<string> => readFile(path.join(workspaceRoot, file), 'utf8');

/** Names of metrics in a text: of a cluster, of its process, of a host. */
function namesIn(text: string): string[] {
  const found = text.match(/\b(?:a2a_cluster|nodejs|process|node_filesystem)_[a-z0-9_]+\b|\bup(?=\{)/g) ?? [];
  return [...new Set(found)].sort();
}

/** As GitHub makes them. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

describe('what operators are given', () => {
  let real: Set<string>;
  let ours: string[];
  let page: string;
  let alerts: readonly Alert[];
  let dashboard: Dashboard;
  /** Text of each section of the page, by anchor. */
  let sections: Map<string, string>;

  beforeAll(async () => {
    const replica = await startMetered({ database: createMemoryDatabase(), executor: createDemoAgent() });
    // What is read of the table of replicas and of all tasks, whoever asks for it.
    const views = {
      replicas: { known: () => ({ replicas: [], ageMs: 0 }) },
      tasks: { counts: async () => ({ live: {}, leaseless: 0 }) },
    };
    const global = await clusterReadings(views, createSilentLogger());
    await replica.client.send({ text: 'tick 1 1' });
    // An age is shown only while a lease is held.
    await replica.client.send({ text: 'tick 100 100', configuration: { returnImmediately: true } });
    const text = await (await replica.get('/metrics')).text();
    await replica.close();
    real = new Set([
      ...[...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''),
      ...global.map(({ name }) => name),
    ]);
    ours = [...real].filter((name) => name.startsWith('a2a_cluster_'));
    page = await read('docs/operations.md');
    const rules = parse(await read('deploy/prometheus/rules.yaml')) as {
      groups: { rules: Alert[] }[];
    };
    alerts = rules.groups.flatMap((group) => group.rules);
    dashboard = JSON.parse(await read('deploy/grafana/a2a-cluster.json')) as Dashboard;
    const parts = page.split(/^#{2,3} (.*)$/m);
    sections = new Map(
      parts.flatMap((part, n) => (n % 2 === 1 ? [[anchorOf(part), parts[n + 1] ?? '']] : [])),
    );
  });

  const unknown = (text: string): string[] =>
    namesIn(text).filter((name) => {
      const base = name.replace(/_(bucket|sum|count)$/, '');
      return !real.has(name) && !real.has(base) && !FOREIGN.includes(name);
    });
  const expressions = (): string[] =>
    dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  test('names no metric that is not there', () => {
    expect(ours.length).toBeGreaterThan(35);
    expect(unknown(page)).toEqual([]);
    expect(unknown(alerts.map(({ expr }) => expr).join('\n'))).toEqual([]);
    expect(unknown(expressions().join('\n'))).toEqual([]);
  });

  test('shows every metric of a cluster, on the page and in a panel', () => {
    const shown = new Set(
      namesIn(expressions().join('\n')).map((name) => name.replace(/_(bucket|sum|count)$/, '')),
    );
    const told = new Set(namesIn(page));
    expect(ours.filter((name) => !shown.has(name))).toEqual([]);
    expect(ours.filter((name) => !told.has(name))).toEqual([]);
  });

  test('has a section of the page for every alert, and an alert for everything that goes wrong', () => {
    for (const { alert, annotations, labels } of alerts) {
      const [file, anchor = ''] = annotations.runbook.split('#');
      expect([alert, file, sections.get(anchor)?.includes(`\`${alert}\``)]).toEqual([
        alert,
        'docs/operations.md',
        true,
      ]);
      expect(['info', 'warning', 'critical']).toContain(labels.severity);
    }
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    const wrong = [
      ...(page.split(/^## /m).find((part) => part.startsWith('What goes wrong')) ?? '').matchAll(
        /^### (.*)$/gm,
      ),
    ];
    expect(wrong.length).toBeGreaterThanOrEqual(15);
    for (const [, heading = ''] of wrong) {
      const section = sections.get(anchorOf(heading)) ?? '';
      const [, line = ''] = /\*\*Alert\*\*: (.*)/.exec(section) ?? [];
      const named = [...line.matchAll(/`(A2A\w+)`/g)].map(([, name]) => name ?? '');
      expect([heading, named.filter((name) => names.includes(name)).length]).toEqual([heading, named.length]);
      expect([heading, named.length > 0]).toEqual([heading, true]);
      for (const part of ['Symptom', 'Metric', 'Look at', 'Do'])
        expect([heading, section.includes(`**${part}**`)]).toEqual([heading, true]);
    }
  });

  test('has a dashboard that imports: one source to choose, panels that stand apart', () => {
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(dashboard.templating.list.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      'datasource: datasource',
      'job: query',
    ]);
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, datasource, targets = [] } of panels) {
      if (type === 'row') continue;
      for (const source of [datasource, ...targets.map((target) => target.datasource)])
        expect(source?.uid).toBe('${datasource}');
      expect(targets.length).toBeGreaterThan(0);
    }
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)}/${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0 ? null : 'promtool';
  (hasTools({ tests: 'rules and panels by promtool', missing: promtool }) ? describe : describe.skip)(
    'by promtool',
    () => {
      let folder: string;
      beforeAll(async () => {
        folder = await mkdtemp(path.join(tmpdir(), 'a2a-rules-'));
      });
      afterAll(() => rm(folder, { recursive: true }));

      const check = (file: string): string => {
        const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], {
          encoding: 'utf8',
        });
        return status === 0 ? 'fine' : stdout + stderr;
      };

      test('the rules are right', () => {
        expect(check(path.join(workspaceRoot, 'deploy/prometheus/rules.yaml'))).toBe('fine');
      });

      test('so is what every panel asks', async () => {
        const rules = expressions().map((expr, n) => ({
          record: `panel:${n}`,
          expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
        }));
        const file = path.join(folder, 'panels.json');
        await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
        expect(check(file)).toBe('fine');
      });
    },
  );
});

test('the file that switches tracing on does so for a real replica', async () => {
  const database = await createTestDatabase({ provider: 'sqlite' });
  const file = pathToFileURL(path.join(workspaceRoot, 'deploy/tracing.mjs'));
  const replica = await startReplica({
    databaseUrl: database.url,
    env: { NODE_OPTIONS: `--import ${file.href}` },
  });
  try {
    await replica.client.send({ text: 'done' });
    for (const name of ['a2a.admission', 'a2a.turn', 'a2a.commit'])
      await waitUntil({
        what: `the span ${name} is printed`,
        limitMs: 10_000,
        ask: async () => (replica.errors.some((line) => line.includes(`name: '${name}'`)) ? true : undefined),
      });
  } finally {
    await replica.end();
    await database.drop();
  }
});
