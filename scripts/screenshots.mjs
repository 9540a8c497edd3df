// Makes the pictures of docs/console: real replicas on a database of their own, some minutes of turns, one replica
// killed, webhooks that fail; then every view in light, dark and at the width of a phone.
//   npm run screenshots
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { say, root } from './workspace.mjs';
import { startScene } from './screenshots/scene.mjs';

const target = path.join(root, 'docs/console');
const wide = { width: 1280, height: 800 };
const forms = {
  light: { viewport: wide, colorScheme: 'light' },
  dark: { viewport: wide, colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: 'light' },
};
/** A picture shows the top of a view, not fifty rows. */
const HIGHEST = { wide: 1_800, phone: 1_500 };

function viewsOf({ base, tasks }) {
  const table = (page) => page.getByRole('table').first().waitFor();
  return {
    overview: { url: `${base}/console/`, ready: (page) => page.locator('.plot canvas').last().waitFor() },
    tasks: { url: `${base}/console/tasks`, ready: table, height: 800 },
    task: {
      url: `${base}/console/tasks/${tasks.lost}`,
      ready: (page) => page.getByText('not by the holder').waitFor(),
    },
    'running-task': {
      url: `${base}/console/tasks/${tasks.running}`,
      ready: (page) => page.getByRole('timer').waitFor(),
      height: 800,
    },
    push: {
      url: `${base}/console/tasks/${tasks.push}`,
      async ready(page) {
        await page.getByText('Given up').first().waitFor();
      },
      phoneFrom: '#push',
    },
    replicas: { url: `${base}/console/replicas`, ready: table, height: 800 },
    confirm: {
      url: `${base}/console/tasks/${tasks.running}`,
      async ready(page) {
        await page.getByRole('button', { name: 'Release the lease' }).click();
        await page.getByRole('dialog').waitFor();
      },
      height: 800,
      phoneHeight: 740,
    },
  };
}

function lockedViewOf(base) {
  const ready = (page) => page.getByLabel('Token').waitFor();
  return { token: { url: `${base}/console/`, ready, height: 600, phoneHeight: 740, live: false } };
}

async function takeAll(views) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  for (const [form, options] of Object.entries(forms)) {
    const context = await browser.newContext(options);
    for (const [name, view] of Object.entries(views)) {
      const page = await context.newPage();
      await page.goto(view.url);
      await view.ready(page);
      if (view.live !== false) await page.getByText('Live', { exact: true }).waitFor();
      const { width } = options.viewport;
      const whole = await page.evaluate('document.documentElement.scrollHeight');
      const most = (form === 'phone' ? view.phoneHeight : view.height) ?? HIGHEST[form] ?? HIGHEST.wide;
      const y = form === 'phone' ? await topOf(page, view.phoneFrom) : 0;
      const clip = { x: 0, y, width, height: Math.min(whole - y, most) };
      await page.screenshot({ path: path.join(target, `${name}-${form}.png`), fullPage: true, clip });
      await page.close();
    }
    await context.close();
  }
  await browser.close();
}

/** How far down a part of the view begins, a little above it. */
async function topOf(page, selector) {
  if (selector === undefined) return 0;
  return (await page.evaluate(`document.querySelector('${selector}').getBoundingClientRect().top`)) - 20;
}

mkdirSync(target, { recursive: true });
const scene = await startScene();
try {
  await takeAll(viewsOf(scene));
  await takeAll(lockedViewOf(await scene.lock()));
  say(`The pictures are in ${path.relative(process.cwd(), target)}.`);
} finally {
  await scene.end();
}
