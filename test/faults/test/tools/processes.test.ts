import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { workspaceRoot } from '@a2a-cluster/testing';
import { endAll, own, spawnOwned } from '../../src/tools/owned.js';
import { fileHandles, isAlive, residentBytes, tempFolder, until } from '../../src/tools/processes.js';

const onLinux = process.platform === 'linux';

test('a running process is alive and, on Linux, has memory and files; an ended one has nothing', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const pid = child.pid as number;
  expect(isAlive(pid)).toBe(true);
  if (onLinux) {
    await until(() => (residentBytes(pid) ?? 0) > 1_000_000, { what: 'some memory', withinMs: 5_000 });
    expect(fileHandles(pid)).toBeGreaterThan(2);
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect([isAlive(pid), residentBytes(pid), fileHandles(pid)]).toEqual([false, null, null]);
});

test('what is owned ends at once, whatever one of it does', async () => {
  const folder = tempFolder('owned');
  const { pid, exited } = await spawnOwned({
    command: '/bin/sleep',
    args: ['60'],
    endsBy: 'SIGKILL',
    log: path.join(folder.path, 'log'),
  });
  own({
    endNow() {
      throw new Error('cannot end');
    },
  });
  endAll();
  endAll();
  expect([await exited, isAlive(pid), existsSync(folder.path)]).toEqual(['SIGKILL', false, false]);
});

(onLinux && existsSync('/usr/bin/setpriv') ? test : test.skip)(
  'what is owned ends by itself when the harness is ended by SIGKILL',
  async () => {
    const folder = tempFolder('orphan');
    const script = path.join(folder.path, 'harness.mjs');
    const source = `import { spawn } from 'node:child_process';
const child = spawn('/usr/bin/setpriv', ['--pdeathsig', 'KILL', '/bin/sleep', '60'], { stdio: 'ignore' });
child.once('spawn', () => console.log(child.pid));`;
    writeFileSync(script, source);
    const harness = spawn(process.execPath, [script], {
      cwd: workspaceRoot,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(harness.stdout, 'data')) as [Buffer];
    const pid = Number(said.toString());
    // From here on it is sleep itself: setpriv has done its part.
    await until(() => (residentBytes(pid) ?? 0) > 0, { what: 'a process', withinMs: 3_000 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    harness.kill('SIGKILL');
    await until(() => !isAlive(pid), { what: 'its child to end', withinMs: 5_000 });
    folder.remove();
  },
);
