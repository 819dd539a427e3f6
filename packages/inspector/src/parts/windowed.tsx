/** Renders a list window as a grid with one tab stop, arrow keys between rows, and only the rows in view. */
import type { ComponentChildren, KeyboardEventHandler } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { ListWindow } from './list-window.ts';

interface WindowedProps {
  list: ListWindow;
  /** The accessible name of the list. */
  label: string;
  /** The headings, if any. */
  columns?: readonly string[];
  /** The selected row; -1 for none. */
  chosen: number;
  onChoose(index: number): void;
  /** Called on Enter or a click. */
  onOpen(index: number): void;
  /** Renders the cells of a row. */
  row(index: number): { class?: string; cells: ComponentChildren };
}

export function Windowed({ list, label, columns, chosen, onChoose, onOpen, row }: WindowedProps) {
  const element = useRef<HTMLDivElement>(null);
  const id = useId();
  // Runs before the effects of the parent view, which may scroll.
  useLayoutEffect(() => list.attach(element.current!), [list]);
  const { first, last, offset } = list.rendered.value;
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);

  const onKeyDown: KeyboardEventHandler<HTMLDivElement> = (event) => {
    const target = targetOf(event.key, chosen, list);
    if (event.key === 'Enter' && chosen >= 0) onOpen(chosen);
    else if (target !== null) {
      onChoose(target);
      list.scrollTo(target);
    } else return;
    event.preventDefault();
  };

  return (
    <div
      ref={element}
      class="windowed"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={list.count.value + (columns ? 1 : 0)}
      aria-activedescendant={chosen >= first && chosen < last ? `${id}-${chosen}` : undefined}
      onKeyDown={onKeyDown}
    >
      {columns && (
        <div role="row" class="head" aria-rowindex={1}>
          {columns.map((column) => (
            <span key={column} role="columnheader">
              {column}
            </span>
          ))}
        </div>
      )}
      <div class="spacer" role="presentation" style={{ height: `${list.height.value}px` }}>
        <div class="rows" role="rowgroup" style={{ transform: `translateY(${offset}px)` }}>
          {indexes.map((index) => {
            const { class: className, cells } = row(index);
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys; rows are not tab stops.
              <div
                key={index}
                id={`${id}-${index}`}
                role="row"
                aria-rowindex={index + (columns ? 2 : 1)}
                aria-selected={index === chosen}
                class={className}
                style={{ height: `${list.rowHeight}px` }}
                onClick={(event) => (event.target as Element).closest('a, button') ?? onOpen(index)}
              >
                {cells}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function targetOf(key: string, chosen: number, list: ListWindow): number | null {
  const end = list.count.peek() - 1;
  if (end < 0) return null;
  const { first, last } = list.inView.peek();
  const page = Math.max(1, last - first - 2);
  const moves: Record<string, number> = {
    ArrowDown: chosen + 1,
    ArrowUp: chosen - 1,
    PageDown: chosen + page,
    PageUp: chosen - page,
    Home: 0,
    End: end,
  };
  const target = moves[key];
  return target === undefined ? null : Math.min(end, Math.max(0, target));
}
