import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import express from 'express';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSilentLogger } from '@a2a-cluster/core';
import { builtPage, consolePage } from '../../src/console/page.js';
import { keepLog } from '../log-lines.js';

let folder: string;
let app: express.Express;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'console-page-'));
  await mkdir(path.join(folder, 'assets'));
  await writeFile(path.join(folder, 'index.html'), '<p>the page</p>');
  await writeFile(path.join(folder, 'assets/index-abc.js'), 'start()');
  await writeFile(path.join(folder, 'icon.svg'), '<svg/>');
  app = express();
  app.use('/console', consolePage({ folder, logger: createSilentLogger() }));
});

afterAll(() => rm(folder, { recursive: true }));

const get = (at: string): request.Test => request(app).get(at).set('connection', 'close');

describe('the page', () => {
  test('is there at every path, for it knows its views', async () => {
    for (const at of ['/console/', '/console/tasks', '/console/tasks/a%2Fb?x=1', '/console/index.html']) {
      const answer = await get(at);
      expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([
        ...[200, '<p>the page</p>', 'no-cache'],
      ]);
      expect(answer.headers['content-type']).toMatch(/^text\/html/);
    }
  });

  test('sends on from the path without a slash, query and all', async () => {
    expect((await get('/console')).headers['location']).toBe('/console/');
    expect((await get('/console?a=b')).headers['location']).toBe('/console/?a=b');
  });

  test('may be kept, its assets for ever, its index not unasked', async () => {
    const asset = await get('/console/assets/index-abc.js');
    expect([asset.status, asset.headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    const index = await get('/console/');
    const again = await get('/console/').set('if-none-match', String(index.headers['etag']));
    expect(again.status).toBe(304);
    expect((await get('/console/icon.svg')).headers['content-type']).toMatch(/svg/);
  });

  test('has no other file than its own', async () => {
    for (const at of ['/console/assets/old-1.js', '/console/assets/', '/console/assets/%2e%2e/index.html']) {
      const answer = await get(at);
      expect([at, answer.status === 404 || answer.text === '<p>the page</p>']).toEqual([at, true]);
    }
    expect((await get('/console/assets/..%2f..%2fetc/passwd')).status).not.toBe(200);
    expect((await request(app).post('/console/').set('connection', 'close')).status).toBe(405);
  });

  test('runs nothing that is not its own and stands in no frame', async () => {
    for (const at of ['/console/', '/console/assets/index-abc.js']) {
      const policy = String((await get(at)).headers['content-security-policy']);
      expect(policy.split(';').sort()).toEqual([
        ...["base-uri 'none'", "connect-src 'self'", "default-src 'none'", "font-src 'self'", "form-action 'self'"],
        ...["frame-ancestors 'none'", "img-src 'self' data:", "object-src 'none'", "script-src 'self'"],
        "style-src 'self'",
      ]);
    }
  });

  test('that was not built is said, to the operator and in the log', async () => {
    const kept = keepLog();
    const bare = express().use('/console', consolePage({ folder: undefined, logger: kept.log }));
    const answer = await request(bare).get('/console/').set('connection', 'close');
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('npm run build')]);
    expect(kept.lines()).toMatchObject([{ msg: expect.stringContaining('npm run build') }]);
  });

  test('of this build is found', async () => {
    expect(builtPage()).toMatch(/console\/dist$/);
  });
});
