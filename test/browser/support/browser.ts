import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { hasTools } from '@a2a-cluster/testing';

const PROGRAM = '/usr/bin/chromium';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Whether a browser is here; said where it is not. */
export function hasBrowser(): boolean {
  return hasTools({ tests: 'the console in a browser', missing: existsSync(PROGRAM) ? null : PROGRAM });
}

/** Starts a browser. The caller closes it. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: ARGUMENTS });
}

/** The three forms every view is looked at in. */
export const FORMS = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: 'light' },
} as const;
