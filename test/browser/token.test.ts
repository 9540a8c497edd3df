import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from '../integration/support/cluster-of.js';
import { violationsOf } from './support/axe.js';
import { hasBrowser, openBrowser } from './support/browser.js';
import { openConsole, type ConsolePage } from './support/console-page.js';

const provider = availableProviders().includes('postgresql') ? 'postgresql' : 'sqlite';
const LOOK = 'a-token-that-may-only-look';
const ACT = 'a-token-that-may-act-as-well';

(hasBrowser() ? describe : describe.skip)(`the console behind a token, on ${provider}`, () => {
  let browser: Browser;
  let cluster: TestCluster;
  let open: ConsolePage;

  beforeAll(async () => {
    browser = await openBrowser();
    cluster = await startCluster({ provider, count: 1, env: { OPERATOR_TOKEN: LOOK, CONSOLE_TOKEN: ACT } });
  });
  afterEach(() => open.close());
  afterAll(async () => {
    await browser.close();
    await cluster.end();
  });

  test('asks for it, says when it is wrong, and keeps it in this tab only', async () => {
    open = await openConsole(browser, cluster.replicas[0]!.base, { bypassCSP: true });
    const { page, at } = open;
    await page.goto(at('/replicas'));
    await page.getByRole('heading', { name: 'Token needed' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Token').fill('not-the-token');
    await page.getByLabel('Token').press('Enter');
    await page.getByRole('alert').getByText('The token was not accepted').waitFor();
    await page.getByLabel('Token').fill(ACT);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('row').getByText('Running').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /^Drain/ }).count()).toBe(1);
    await page.reload();
    await page.getByRole('row').getByText('Running').waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(ACT);
    const other = await page.context().newPage();
    await other.goto(at('/'));
    await other.getByRole('heading', { name: 'Token needed' }).waitFor();
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.getByRole('heading', { name: 'Token needed' }).waitFor();
  });

  test('hides what the token may not do', async () => {
    open = await openConsole(browser, cluster.replicas[0]!.base);
    const { page, at } = open;
    await page.goto(at('/replicas'));
    await page.getByLabel('Token').fill(LOOK);
    await page.getByLabel('Token').press('Enter');
    await page.getByRole('row').getByText('Running').waitFor();
    expect(await page.getByRole('button', { name: /^Drain/ }).count()).toBe(0);
  });

  test('explains it when a token may no longer act', async () => {
    open = await openConsole(browser, cluster.replicas[0]!.base);
    const { page, at } = open;
    await page.goto(at('/replicas'));
    await page.getByLabel('Token').fill(ACT);
    await page.getByLabel('Token').press('Enter');
    await page.getByRole('button', { name: /^Drain/ }).click();
    await page.route('**/drain', (route) => {
      const headers = { ...route.request().headers(), authorization: `Bearer ${LOOK}` };
      return route.continue({ headers });
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Drain the replica' }).click();
    const alert = page.getByRole('dialog').getByRole('alert');
    await alert.getByText('This token may look but not act').waitFor();
    await alert.getByText('with a token that may act').waitFor();
  });
});
