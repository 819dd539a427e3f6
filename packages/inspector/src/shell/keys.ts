/** Keyboard shortcuts: each view says which it has, and the sheet on `?` shows what is there now. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export interface Shortcut {
  /** As `KeyboardEvent.key` names it, two with a space between for one after the other: `j`, `G`, `g r`. */
  keys: string;
  /** What it does, for the sheet. */
  does: string;
  run(): void;
}

export interface ShortcutGroup {
  title: string;
  shortcuts: readonly Shortcut[];
}

const CHORD_MS = 1_000;

/** Those of the frame first, then those of the view. */
export const shortcutGroups = signal<readonly ShortcutGroup[]>([]);

let begun: { key: string; at: number } | null = null;

/** Makes shortcuts work for as long as the component is shown. */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    // What a shortcut does changes with every rendering; the group only holds which there are.
    const group: ShortcutGroup = {
      title,
      shortcuts: shortcuts.map(({ keys, does }) => ({
        keys,
        does,
        run: () => current.current.find((it) => it.keys === keys)?.run(),
      })),
    };
    shortcutGroups.value = [...shortcutGroups.peek(), group];
    return () => {
      shortcutGroups.value = shortcutGroups.peek().filter((it) => it !== group);
    };
  }, [title]);
}

export function startShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isWriting(event.target) || document.querySelector('dialog[open]')) return;
    if (event.key === 'Enter' && isPressed(event.target)) return;
    const shortcut = shortcutOf(event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run();
  });
}

function shortcutOf(key: string): Shortcut | undefined {
  const all = shortcutGroups.peek().flatMap(({ shortcuts }) => shortcuts);
  const first = begun && performance.now() - begun.at < CHORD_MS ? begun.key : null;
  begun = null;
  const chord = first === null ? undefined : all.findLast(({ keys }) => keys === `${first} ${key}`);
  if (chord) return chord;
  if (all.some(({ keys }) => keys.startsWith(`${key} `))) begun = { key, at: performance.now() };
  return all.findLast(({ keys }) => keys === key);
}

/** Enter presses what has the focus, if it can be pressed. */
function isPressed(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('a, button, summary') !== null;
}

/** Keys that are typed into something are text, not shortcuts. */
function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'range', 'button'].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
