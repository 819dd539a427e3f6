/** Keyboard shortcuts. Each view registers its own shortcuts, and `?` lists the active shortcuts. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export interface Shortcut {
  /** A `KeyboardEvent.key`, or two separated by a space for a chord: `j`, `G`, `g r`. */
  keys: string;
  /** The description in the list of shortcuts. */
  does: string;
  run(): void;
}

export interface ShortcutGroup {
  title: string;
  shortcuts: readonly Shortcut[];
}

const CHORD_MS = 1_000;

/** The frame's shortcuts, followed by the shortcuts of the view. */
export const shortcutGroups = signal<readonly ShortcutGroup[]>([]);

let begun: { key: string; at: number } | null = null;

/** Registers shortcuts while the component is shown. */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    // The handlers change with every rendering, so the group looks up the current handler.
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

/** True if Enter activates the focused element. */
function isPressed(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('a, button, summary') !== null;
}

/** True if the key is typed into an input and is therefore not a shortcut. */
function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'range', 'button'].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
