/** Light or dark: as the system has it, until the reader says otherwise. */
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const PLACE = 'tidemark.theme';
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

export const theme = signal<Theme>(storedTheme());

function storedTheme(): Theme {
  const stored = localStorage.getItem(PLACE);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function changeTheme(): void {
  theme.value = NEXT[theme.value];
}

export function startTheme(): void {
  effect(() => {
    localStorage.setItem(PLACE, theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
}
