import { describe, expect, test } from '@jest/globals';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';
import { settings } from '../../apps/clustermode/src/settings.js';
import { deployFile } from './support/deploy-file.js';

const text = deployFile('Dockerfile');
const file = DockerfileParser.parse(text);

/** The instructions of a stage, by its name. */
function stage(name: string): Instruction[] {
  const all = file.getInstructions();
  const froms = file.getFROMs();
  const at = froms.findIndex((from) => from.getBuildStage() === name);
  const first = froms[at]?.getRange().start.line ?? Number.NaN;
  const last = froms[at + 1]?.getRange().start.line ?? Infinity;
  return all.filter((one) => {
    const { line } = one.getRange().start;
    return line >= first && line < last;
  });
}

const valuesOf = (name: string, keyword: string): (string | null)[] =>
  stage(name)
    .filter((one) => one.getKeyword() === keyword)
    .map((one) => one.getArgumentsContent());

describe('deploy/Dockerfile', () => {
  test('is one, without a warning of the validator', () => {
    expect(validate(text)).toEqual([]);
    expect(validate('FROM x\nRUNN y')).not.toEqual([]);
  });

  test('builds the replica last, which is what a build without a target makes', () => {
    const names = file.getFROMs().map((from) => from.getBuildStage());
    expect(names).toEqual(['build', 'migrate', 'replica']);
  });

  test.each(['replica', 'migrate'])('%s does not run as root', (name) => {
    expect(valuesOf(name, 'USER')).toEqual(['node']);
  });

  test('the replica gets signals itself, is told to drain, and is asked whether it lives', () => {
    const [command] = valuesOf('replica', 'CMD').map((value) => JSON.parse(value ?? '') as string[]);
    expect(command).toEqual(['node', 'bin/clustermode.js', 'serve']);
    expect(existsSync(path.join(workspaceRoot, 'apps/clustermode', command?.[1] ?? ''))).toBe(true);
    expect(valuesOf('replica', 'STOPSIGNAL')).toEqual(['SIGTERM']);
    expect(valuesOf('replica', 'HEALTHCHECK')[0]).toContain('/livez');
    expect(valuesOf('replica', 'RUN').join()).not.toMatch(/apt-get|npm|pnpm/);
  });

  test('listens where the settings say, and exposes that', () => {
    const [environment = ''] = valuesOf('replica', 'ENV');
    const [exposed = ''] = valuesOf('replica', 'EXPOSE');
    const set = Object.fromEntries((environment ?? '').split(/\s+/).map((pair) => pair.split('=')));
    expect(Object.keys(set).filter((name) => name !== 'NODE_ENV' && !Object.hasOwn(settings, name))).toEqual(
      [],
    );
    expect((exposed ?? '').split(' ')).toContain(set['PORT']);
  });

  test('uses the package manager of the lock file, and a Node that will do', () => {
    const { packageManager, engines } = JSON.parse(
      readFileSync(path.join(workspaceRoot, 'package.json'), 'utf8'),
    ) as { packageManager: string; engines: { node: string } };
    const managers = [...text.matchAll(/\bpnpm@[\d.]+/g)].map(([name]) => name);
    expect(new Set(managers)).toEqual(new Set([packageManager]));
    expect(text).toMatch(new RegExp(`^ARG NODE_IMAGE=node:${/\d+/.exec(engines.node)?.[0]}-`, 'm'));
  });

  test('the build sees neither what a build makes nor local secrets', () => {
    const ignored = readFileSync(path.join(workspaceRoot, '.dockerignore'), 'utf8').split('\n');
    for (const name of ['.git', '.env*', '.data', '**/node_modules', '**/dist', '**/*.db'])
      expect(ignored).toContain(name);
    for (const name of ['scripts', 'prisma', 'deploy', 'packages']) expect(ignored).not.toContain(name);
  });
});
