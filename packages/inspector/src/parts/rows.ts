/** A list of rows with a selection and keyboard shortcuts. */
import { computed, type ReadonlySignal, type Signal, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Shortcut } from '../shell/keys.ts';
import { ListWindow } from './list-window.ts';

export interface Rows {
  list: ListWindow;
  /** The index of the selected row; -1 for none. */
  chosen: Signal<number>;
  /** Props for `Windowed`. */
  shown: { list: ListWindow; chosen: number; onChoose(index: number): void };
}

export function useRows(rowHeight: number, items: ReadonlySignal<readonly unknown[]>): Rows {
  const list = useMemo(
    () =>
      new ListWindow(
        rowHeight,
        computed(() => items.value.length),
      ),
    [items],
  );
  const chosen = useSignal(-1);
  const onChoose = (index: number) => {
    chosen.value = index;
  };
  return { list, chosen, shown: { list, chosen: chosen.value, onChoose } };
}

/** Returns the shortcuts to move through a list and open the selected row. */
export function rowKeys({ list, chosen }: Rows, thing: string, open: (index: number) => void): Shortcut[] {
  const move = (by: number) => {
    chosen.value = Math.max(0, Math.min(list.count.peek() - 1, chosen.value + by));
    list.scrollTo(chosen.value);
  };
  return [
    { keys: 'j', does: `next ${thing}`, run: () => move(1) },
    { keys: 'k', does: `previous ${thing}`, run: () => move(-1) },
    { keys: 'Enter', does: `open the ${thing}`, run: () => open(chosen.value) },
  ];
}
