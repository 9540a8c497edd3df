import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** A page of the console, and what went wrong in it. */
export interface ConsolePage {
  readonly page: Page;
  /** Errors of scripts, and what the browser refused or could not load. */
  readonly faults: readonly string[];
  /** Where pages of the console are, by their path. */
  at(path: string): string;
  close(): Promise<void>;
}

/** Opens a page at a replica, in a context of its own: nothing is shared with other pages. */
export async function openConsole(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  return {
    page,
    faults,
    at: (path) => `${base}/console${path}`,
    close: () => context.close(),
  };
}
