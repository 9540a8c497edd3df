import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from '../integration/support/cluster-of.js';
import { Recording } from '../integration/support/recording.js';
import { hasBrowser, openBrowser } from './support/browser.js';
import { openConsole, type ConsolePage } from './support/console-page.js';

const provider = availableProviders().includes('postgresql') ? 'postgresql' : 'sqlite';

(hasBrowser() ? describe : describe.skip)(`the console of three replicas on ${provider}`, () => {
  let browser: Browser;
  let cluster: TestCluster;
  let open: ConsolePage;

  beforeAll(async () => {
    browser = await openBrowser();
    cluster = await startCluster({ provider, count: 3 });
  });
  afterEach(() => open.close());
  afterAll(async () => {
    await browser.close();
    await cluster.end();
  });

  test('shows a replica that was killed, its turn FAILED and the sweep, without a reload', async () => {
    const [watched, , victim] = cluster.replicas;
    const caller = new Recording(victim!.client.stream({ text: 'tick 1000 200' }));
    const taskId = await caller.taskId();
    open = await openConsole(browser, watched!.base);
    const { page, at } = open;
    await page.goto(at('/'));
    await page.getByText('3 of 3').waitFor();
    const list = await page.context().newPage();
    await list.goto(at('/tasks'));
    const row = list.getByRole('row').filter({ hasText: taskId });
    await row.getByText('Working').waitFor();
    const detail = await page.context().newPage();
    await detail.goto(at(`/tasks/${taskId}`));
    await detail.getByRole('timer').waitFor();
    const loads = await Promise.all(
      [page, list, detail].map((one) => one.evaluate(() => performance.timeOrigin)),
    );

    victim!.kill('SIGKILL');

    await page.getByText('2 of 3').waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: /^.*c-.*Silent/s })
      .waitFor();
    await row.getByText('Failed').waitFor();
    await detail.getByText('not by the holder').waitFor();
    await detail.getByText('its replica was lost (replica_lost)').waitFor();
    await detail.getByText('none, the task has ended').waitFor();
    await page.locator('.tile', { hasText: 'Turns swept' }).getByText('1', { exact: true }).waitFor();
    await page
      .locator('.attention-item')
      .getByText(/^Warning:.*swept/)
      .waitFor();
    const after = await Promise.all(
      [page, list, detail].map((one) => one.evaluate(() => performance.timeOrigin)),
    );
    expect(after).toEqual(loads);
    expect(open.faults).toEqual([]);
  });
});
