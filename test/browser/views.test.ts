import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from '../integration/support/cluster-of.js';
import { Recording } from '../integration/support/recording.js';
import { overflowOf, violationsOf } from './support/axe.js';
import { FORMS, hasBrowser, openBrowser } from './support/browser.js';
import { openConsole } from './support/console-page.js';
import { startReceiver, type Receiver } from './support/receiver.js';

const provider = availableProviders().includes('postgresql') ? 'postgresql' : 'sqlite';

(hasBrowser() ? describe : describe.skip)(`the views of the console, on ${provider}`, () => {
  let browser: Browser;
  let cluster: TestCluster;
  let receiver: Receiver;
  /** A task with all there is to show: turns on two replicas, pieces, dead letters; and one that runs. */
  const tasks = { rich: '', running: '' };

  beforeAll(async () => {
    browser = await openBrowser();
    receiver = await startReceiver(404);
    cluster = await startCluster({ provider, count: 2 });
    const [first, second] = cluster.replicas;
    const configuration = { taskPushNotificationConfig: { url: receiver.url } };
    const text = `chunk 8 900 5; ask which account?`;
    const parked = await first!.client.send({ text, configuration });
    tasks.rich = parked.result?.task?.id ?? '';
    await second!.client.send({ text: 'tick 2 10; fail no such account', taskId: tasks.rich });
    tasks.running = await new Recording(second!.client.stream({ text: 'sleep 600000' })).taskId();
    const third = await cluster.add({ name: 'a-name-as-long-as-that-of-a-pod-5f7d9c8b6-x2x9q' });
    await new Recording(third.client.stream({ text: 'sleep 600000' })).taskId();
    third.kill('SIGKILL');
  });
  afterAll(async () => {
    await browser.close();
    await cluster.end();
    await receiver.close();
  });

  const views: Readonly<Record<string, { path(): string; ready(page: Page): Promise<unknown> }>> = {
    overview: { path: () => '/', ready: (page) => page.locator('.plot canvas').first().waitFor() },
    tasks: { path: () => '/tasks', ready: (page) => page.getByRole('table').waitFor() },
    'tasks that fit': {
      path: () => '/tasks?state=TASK_STATE_FAILED&state=TASK_STATE_WORKING&owner=anonymous',
      ready: (page) => page.getByText('Filter: 2 conditions').waitFor(),
    },
    'no task': {
      path: () => '/tasks?owner=nobody',
      ready: (page) => page.getByText('No task fits').waitFor(),
    },
    'a task that ended': {
      path: () => `/tasks/${tasks.rich}`,
      ready: (page) => page.getByText('8 pieces of artifact').waitFor(),
    },
    'a task that runs': {
      path: () => `/tasks/${tasks.running}`,
      ready: (page) => page.getByRole('timer').waitFor(),
    },
    'a task that is not there': {
      path: () => '/tasks/nothing-of-the-kind',
      ready: (page) => page.getByText('There is no task').waitFor(),
    },
    replicas: { path: () => '/replicas', ready: (page) => page.getByRole('table').waitFor() },
    'no view': {
      path: () => '/elsewhere',
      ready: (page) => page.getByText('There is no such page').waitFor(),
    },
  };
  const cases = Object.keys(FORMS).flatMap((form) => Object.keys(views).map((view) => [view, form] as const));

  test.each(cases)('%s, %s: nothing for axe-core, and no wider than the window', async (view, form) => {
    // The page's policy keeps axe-core out, as it keeps everything out.
    const open = await openConsole(browser, cluster.replicas[0]!.base, {
      ...FORMS[form as keyof typeof FORMS],
      bypassCSP: true,
    });
    const { page, at } = open;
    await page.goto(at(views[view]!.path()));
    await views[view]!.ready(page);
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await open.close();
  });

  test.each(Object.keys(FORMS))('what opens, %s: the dialog, tables of charts, pieces', async (form) => {
    const open = await openConsole(browser, cluster.replicas[0]!.base, {
      ...FORMS[form as keyof typeof FORMS],
      bypassCSP: true,
    });
    const { page, at } = open;
    await page.goto(at('/'));
    await page.getByText('As a table').first().click();
    await page.getByRole('table', { name: /^Turns/ }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(at(`/tasks/${tasks.rich}`));
    await page.getByText('8 pieces of artifact').click();
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await page.goto(at(`/tasks/${tasks.running}`));
    await page.getByRole('button', { name: 'Release the lease' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await open.close();
  });

  test('the policy of the page holds: nothing of it is refused, and nothing else is run', async () => {
    const open = await openConsole(browser, cluster.replicas[0]!.base);
    const { page, at, faults } = open;
    for (const view of ['/', '/tasks', `/tasks/${tasks.running}`]) {
      await page.goto(at(view));
      await page.getByText('Live', { exact: true }).waitFor();
    }
    await page.goto(at('/'));
    await page.locator('.plot canvas').first().waitFor();
    expect(faults).toEqual([]);
    await open.close();
  });

  test('what agents and users say is text, whatever it looks like', async () => {
    const [first] = cluster.replicas;
    const text = 'done <img src=x onerror="document.title=`run`"><b>bold</b>';
    const sent = await first!.client.send({ text });
    const open = await openConsole(browser, first!.base);
    await open.page.goto(open.at(`/tasks/${sent.result?.task?.id}`));
    await open.page.getByText('<b>bold</b>').first().waitFor();
    expect(await open.page.locator('main img, main b').count()).toBe(0);
    await open.close();
  });

  test('a switch for dark colours is remembered', async () => {
    const open = await openConsole(browser, cluster.replicas[0]!.base, { colorScheme: 'light' });
    const { page, at } = open;
    await page.goto(at('/replicas'));
    const background = (): Promise<string> =>
      page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.getByLabel('Colours').selectOption('Dark');
    const dark = await background();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.getByRole('table').waitFor();
    expect(await background()).toBe(dark);
    await open.close();
  });
});
