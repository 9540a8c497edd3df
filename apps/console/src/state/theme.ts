import { signal } from '@preact/signals';

/** `auto`: as the system has it. */
export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'a2a-cluster.console.theme';

/** The chosen theme, remembered in this browser. */
export const theme = signal<Theme>(themeOf(localStorage.getItem(KEY)));

/** Grows when the colours of the page change, whoever changed them. */
export const paint = signal(0);

/** Chooses a theme. */
export function setTheme(next: Theme): void {
  localStorage.setItem(KEY, next);
  theme.value = next;
  apply();
}

/** Puts the remembered theme on the page and follows the system's. */
export function startTheme(): void {
  apply();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (paint.value += 1));
}

function apply(): void {
  document.documentElement.dataset['theme'] = theme.peek();
  paint.value += 1;
}

function themeOf(text: string | null): Theme {
  return text === 'light' || text === 'dark' ? text : 'auto';
}
