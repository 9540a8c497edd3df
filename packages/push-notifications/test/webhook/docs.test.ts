import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hasTools } from '@a2a-cluster/testing';
import { signatureHeader, type SigningKey } from '../../src/index.js';

/** A request, and whether a receiver is to believe it. */
interface Case {
  readonly title: string;
  readonly genuine: boolean;
  readonly secrets: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly now: number;
}

const now = 1_900_000_000;
const keys: readonly SigningKey[] = [
  { id: 'new.1', secret: 'sécret of the receiver' },
  { id: 'old_1', secret: 'a secret of long ago' },
];
const id = 't%20:1:c';
const body = '{"text":"Zürich 漢"}';
const header = signatureHeader({ keys, id, body, nowSeconds: now });
const [newer, older] = keys.map((key) => ({ [key.id]: key.secret }));

const good = { genuine: true, secrets: newer ?? {}, headers: headersOf(header), body, now };
const bad = { ...good, genuine: false };
const cases: readonly Case[] = [
  { ...good, title: 'the first key' },
  { ...good, title: 'the second key', secrets: older ?? {} },
  { ...good, title: 'both keys', secrets: { ...newer, ...older } },
  { ...good, title: '300 s late', now: now + 300 },
  { ...good, title: '300 s early', now: now - 300 },
  { ...bad, title: '301 s late', now: now + 301 },
  { ...bad, title: '301 s early', now: now - 301 },
  { ...bad, title: 'an unknown key', secrets: { other: keys[0]?.secret ?? '' } },
  { ...bad, title: 'a key of another secret', secrets: { 'new.1': keys[1]?.secret ?? '' } },
  { ...bad, title: 'no key', secrets: {} },
  { ...bad, title: 'another body', body: `${body} ` },
  { ...bad, title: 'another id', headers: { ...headersOf(header), 'a2a-notification-id': 't%20:2:c' } },
  { ...bad, title: 'another time', headers: headersOf(header.replace(String(now), String(now + 1))) },
  { ...bad, title: 'no header', headers: {} },
  { ...bad, title: 'an empty header', headers: headersOf('') },
  { ...bad, title: 'no signature', headers: headersOf(`t=${now},`) },
  { ...bad, title: 'no time', headers: headersOf(header.replace(`t=${now},`, '')) },
  { ...bad, title: 'half a signature', headers: headersOf(header.slice(0, 80)) },
  {
    ...bad,
    title: 'a key named like a property',
    headers: headersOf(`t=${now},v1=constructor:${'0'.repeat(64)}`),
  },
];

const RUN_NODE = `
import { readFileSync } from 'node:fs';
import { isGenuine } from './receiver.mjs';
const cases = JSON.parse(readFileSync(0, 'utf8'));
const answers = cases.map(({ secrets, headers, body, now }) =>
  isGenuine({ secrets, headers, body: Buffer.from(body), nowSeconds: now }));
console.log(JSON.stringify(answers));
`;

const RUN_PYTHON = `
import json, sys
from receiver import is_genuine
cases = json.loads(sys.stdin.buffer.read())
print(json.dumps([is_genuine(c["secrets"], c["headers"], c["body"].encode(), c["now"]) for c in cases]))
`;

function headersOf(signature: string): Record<string, string> {
  return { 'a2a-notification-id': id, 'a2a-signature': signature };
}

const hasPython = hasTools({
  tests: "the receiver's verifier in Python",
  missing: spawnSync('python3', ['--version']).status === 0 ? null : 'python3',
});

describe('a receiver that copied docs/webhooks.md', () => {
  const doc = readFileSync(new URL('../../../../docs/webhooks.md', import.meta.url), 'utf8');
  const expected = cases.map(({ title, genuine }) => [title, genuine]);
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'receiver-'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** What the code of the page says of each case. */
  function answersOf(run: { language: string; file: string; code: string; command: string }): unknown {
    const block = new RegExp(`\`\`\`${run.language}\n([^]*?)\n\`\`\``).exec(doc)?.[1];
    if (block === undefined) throw new Error(`no ${run.language} on the page`);
    const ending = path.extname(run.file);
    writeFileSync(path.join(folder, run.file), block);
    writeFileSync(path.join(folder, `run${ending}`), run.code);
    const input = JSON.stringify(cases);
    const { stdout, stderr } = spawnSync(run.command, [`run${ending}`], {
      cwd: folder,
      input,
      encoding: 'utf8',
    });
    if (stderr !== '') throw new Error(stderr);
    return (JSON.parse(stdout) as boolean[]).map((answer, index) => [cases[index]?.title, answer]);
  }

  test('believes what was signed and nothing else, in Node', () => {
    const run = { language: 'js', file: 'receiver.mjs', code: RUN_NODE, command: process.execPath };
    expect(answersOf(run)).toEqual(expected);
  });

  (hasPython ? test : test.skip)('believes what was signed and nothing else, in Python', () => {
    const run = { language: 'python', file: 'receiver.py', code: RUN_PYTHON, command: 'python3' };
    expect(answersOf(run)).toEqual(expected);
  });
});
