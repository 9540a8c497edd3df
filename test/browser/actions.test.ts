import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from '../integration/support/cluster-of.js';
import { Recording } from '../integration/support/recording.js';
import { Rows } from '../integration/support/rows.js';
import { waitUntil } from '../integration/support/wait-until.js';
import { hasBrowser, openBrowser } from './support/browser.js';
import { openConsole, type ConsolePage } from './support/console-page.js';
import { startReceiver, type Receiver } from './support/receiver.js';

const provider = availableProviders().includes('postgresql') ? 'postgresql' : 'sqlite';

(hasBrowser() ? describe : describe.skip)(`what an operator does in the console, on ${provider}`, () => {
  let browser: Browser;
  let cluster: TestCluster;
  let rows: Rows;
  let open: ConsolePage;
  let receiver: Receiver | undefined;

  beforeAll(async () => {
    browser = await openBrowser();
    cluster = await startCluster({ provider, count: 3 });
    rows = await Rows.open(cluster.database.url);
  });
  afterEach(async () => {
    await open.close();
    await receiver?.close();
    receiver = undefined;
    expect(open.faults).toEqual([]);
  });
  afterAll(async () => {
    await rows.close();
    await browser.close();
    await cluster.end();
  });

  /** A turn that is running on the second replica, and its page at the first. */
  async function runningTask(script: string): Promise<{ readonly taskId: string; readonly page: Page }> {
    const [first, second] = cluster.replicas;
    const taskId = await new Recording(second!.client.stream({ text: script })).taskId();
    open = await openConsole(browser, first!.base);
    await open.page.goto(open.at(`/tasks/${taskId}`));
    return { taskId, page: open.page };
  }

  /** Presses a button, then its confirmation. */
  async function press(page: Page, button: string, confirm: string): Promise<void> {
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('dialog').getByRole('button', { name: confirm }).click();
  }

  test('cancels a task', async () => {
    const { taskId, page } = await runningTask('sleep 600000');
    await press(page, 'Cancel the task', 'Cancel the task');
    await page.getByRole('status').getByText('The task is canceled.').waitFor();
    await page.locator('.task-state').getByText('Canceled').waitFor();
    expect((await rows.task(taskId))?.state).toBe('TASK_STATE_CANCELED');
    expect(await page.getByRole('button', { name: 'Cancel the task' }).count()).toBe(0);
  });

  test('does nothing when the dialog is closed', async () => {
    const { taskId, page } = await runningTask('sleep 600000');
    const button = page.getByRole('button', { name: 'Cancel the task' });
    await button.click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await waitUntil({
      what: 'the focus is back on the button',
      limitMs: 5_000,
      ask: async () => (await button.evaluate((one) => one === document.activeElement)) || undefined,
    });
    await button.click();
    await page.getByRole('button', { name: 'Leave it as it is' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await rows.task(taskId))?.state).not.toBe('TASK_STATE_CANCELED');
  });

  test('releases a lease', async () => {
    const { taskId, page } = await runningTask('deaf 600000');
    await press(page, 'Release the lease', 'Release the lease');
    await page.getByRole('status').getByText('its task is FAILED').waitFor();
    await page.locator('.task-state').getByText('Failed').waitFor();
    expect(await rows.lease(taskId)).toBeUndefined();
  });

  test('is told why an action did nothing', async () => {
    const { taskId, page } = await runningTask('sleep 600000');
    await page.getByRole('button', { name: 'Cancel the task' }).click();
    await cluster.replicas[1]!.client.cancel(taskId);
    // The page hides its button as soon as it hears of that; the dialog that is open stays.
    await page.locator('.task-state').getByText('Canceled').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the task' }).click();
    await page.getByRole('status').getByText('The task is canceled.').waitFor();
    await page.goto(open.at('/replicas'));
    await page.getByRole('button', { name: /^Drain a-/ }).click();
    await page.route('**/drain', (route) =>
      route.continue({ url: route.request().url().replace(/a-\w+/, 'nobody') }),
    );
    await page.getByRole('dialog').getByRole('button', { name: 'Drain the replica' }).click();
    await page.getByRole('dialog').getByRole('alert').getByText('There is no such replica').waitFor();
  });

  test('drains a replica and resumes it', async () => {
    const [first, second] = cluster.replicas;
    open = await openConsole(browser, first!.base);
    const { page, at } = open;
    await page.goto(at('/replicas'));
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: /^b-/ }) });
    await row.getByText('Running').waitFor();
    await row.getByRole('button', { name: /^Drain/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain the replica' }).click();
    await row.getByText('Drained').waitFor();
    const refusal = await second!.client.send({ text: 'done' });
    expect(JSON.stringify(refusal.error)).toContain('REPLICA_DRAINING');
    await row.getByRole('button', { name: /^Resume/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume the replica' }).click();
    await row.getByText('Running').waitFor();
    expect((await second!.client.send({ text: 'done' })).result?.task?.status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
  });

  test('sends the dead letters of a webhook again', async () => {
    receiver = await startReceiver(404);
    const hook = receiver;
    const [first, second] = cluster.replicas;
    const configuration = { taskPushNotificationConfig: { url: `${hook.url}?secret=1` } };
    const sent = await second!.client.send({ text: 'tick 2 10', configuration });
    open = await openConsole(browser, first!.base);
    const { page, at } = open;
    await page.goto(at(`/tasks/${sent.result?.task?.id}`));
    const webhook = page.getByRole('article', { name: /^Webhook/ });
    await waitUntil({
      what: 'the dead letters are on the page',
      limitMs: 20_000,
      ask: async () => {
        if ((await webhook.getByText('Given up').count()) > 0) return true;
        await page.reload();
        await webhook.waitFor();
        return undefined;
      },
    });
    expect(await page.content()).not.toContain('secret');
    const before = hook.count();
    hook.answer(200);
    await press(page, 'Send again', 'Send again');
    await page.getByRole('status').getByText('To be tried again').waitFor();
    await waitUntil({
      // The replica that answers the page looks at once; by themselves replicas do so every 20 s at the latest.
      what: 'the receiver is asked again',
      limitMs: 8_000,
      ask: async () => hook.count() > before || undefined,
    });
  });
});
