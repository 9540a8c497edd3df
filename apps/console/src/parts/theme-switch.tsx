import { setTheme, theme, type Theme } from '../state/theme.js';

const CHOICES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'auto', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

/** Chooses light or dark; remembered in this browser. */
export function ThemeSwitch() {
  return (
    <label class="theme-switch">
      Colours{' '}
      <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
        {CHOICES.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
