/** The light or dark theme. By default it follows the system. */
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const STORAGE_KEY = 'tidemark.theme';
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

export const theme = signal<Theme>(storedTheme());

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function changeTheme(): void {
  theme.value = NEXT[theme.value];
}

export function startTheme(): void {
  effect(() => {
    localStorage.setItem(STORAGE_KEY, theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
}
