import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from '../integration/support/cluster-of.js';
import { Recording } from '../integration/support/recording.js';
import { Rows } from '../integration/support/rows.js';
import { hasBrowser, openBrowser } from './support/browser.js';
import { openConsole, type ConsolePage } from './support/console-page.js';

const provider = availableProviders().includes('postgresql') ? 'postgresql' : 'sqlite';

/** What has the focus, as a screen reader would name it. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const one = document.activeElement;
    return one === null ? '' : `${one.tagName.toLowerCase()} ${(one.textContent ?? '').trim()}`;
  });
}

/** Presses Tab until the focus is on something; fails after more stops than a page has. */
async function tabTo(page: Page, target: RegExp): Promise<void> {
  for (let stops = 0; stops < 400; stops += 1) {
    await page.keyboard.press('Tab');
    const name = await focused(page);
    if (!target.test(name)) continue;
    const outline = await page.evaluate(() => {
      const one = document.activeElement;
      return one === null ? '' : getComputedStyle(one).outlineStyle;
    });
    expect({ name, outline }).toEqual({ name, outline: 'solid' });
    return;
  }
  throw new Error(`the keyboard does not get to ${String(target)}; the last stop was ${await focused(page)}`);
}

(hasBrowser() ? describe : describe.skip)(`the console by keyboard alone, on ${provider}`, () => {
  let browser: Browser;
  let cluster: TestCluster;
  let open: ConsolePage;

  beforeAll(async () => {
    browser = await openBrowser();
    cluster = await startCluster({ provider, count: 1 });
  });
  afterEach(() => open.close());
  afterAll(async () => {
    await browser.close();
    await cluster.end();
  });

  test('leads from the overview to a task and cancels it', async () => {
    const [replica] = cluster.replicas;
    const taskId = await new Recording(replica!.client.stream({ text: 'sleep 600000' })).taskId();
    open = await openConsole(browser, replica!.base);
    const { page, at } = open;
    await page.goto(at('/'));
    await page.getByText('1 of 1').waitFor();

    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('a Skip to the content');
    await page.keyboard.press('Enter');
    expect(await focused(page)).toMatch(/^main /);

    await page.goto(at('/'));
    await page.getByText('1 of 1').waitFor();
    await tabTo(page, /^a Tasks$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    expect(await focused(page)).toBe('h1 Tasks');
    expect(await page.title()).toBe('Tasks · a2a-cluster');

    await page.getByRole('table').waitFor();
    await tabTo(page, new RegExp(`^a .*${taskId}`));
    await page.keyboard.press('Enter');
    await page.getByRole('timer').waitFor();
    expect(await focused(page)).toBe('h1 Task');

    await tabTo(page, /^button Cancel the task$/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel the task');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await focused(page)).toBe('button Leave it as it is');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('The task is canceled.').waitFor();
    // Its button is gone: the focus is where one reads on.
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    const rows = await Rows.open(cluster.database.url);
    expect((await rows.task(taskId))?.state).toBe('TASK_STATE_CANCELED');
    await rows.close();
  });

  test('filters, pages and finds tasks, and the URL tells each', async () => {
    const [replica] = cluster.replicas;
    for (let task = 0; task < 52; task += 1) await replica!.client.send({ text: 'done' });
    open = await openConsole(browser, replica!.base);
    const { page, at } = open;
    await page.goto(at('/tasks'));
    await page.getByRole('table').waitFor();
    await tabTo(page, /^button Older$/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/cursor=/);
    await page.waitForFunction(() => document.querySelectorAll('.table tbody tr').length < 50);
    expect(await page.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Newer' }).press('Enter');
    await page.waitForURL((url) => !url.search.includes('cursor'));
    await page.waitForFunction(() => document.querySelectorAll('.table tbody tr').length === 50);
    await page.getByLabel('Canceled').press('Space');
    await page.getByRole('textbox', { name: 'Owner' }).press('Enter');
    await page.waitForURL(/state=TASK_STATE_CANCELED/);
    await page.waitForFunction(() => document.querySelectorAll('.table tbody tr').length === 1);
    const url = page.url();
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll('.table tbody tr').length === 50);
    await page.goto(url);
    await page.getByText('Filter: 1 condition').waitFor();
    expect(await page.getByLabel('Canceled').isChecked()).toBe(true);
    const taskId = await page.locator('.table tbody th .sr-only').first().textContent();
    await page.getByLabel('Task id').fill(` ${taskId} `);
    await page.getByLabel('Task id').press('Enter');
    await page.waitForURL((one) => one.pathname.endsWith(`/tasks/${taskId}`));
    await page.locator('.task-state').getByText('Canceled').waitFor();
  });
});
