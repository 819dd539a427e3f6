/** One row of the key tree. */
import type { ComponentChildren } from 'preact';
import { messageOf } from '../live/http.ts';
import { frameworkOfPrefix } from '../parts/frameworks.ts';
import { Icon } from '../parts/icons.tsx';
import { countText } from '../parts/numbers.ts';
import type { TreeRow } from './kv-tree.ts';

const INDENT = 16;

interface TreeCellsProps {
  /** The row. Absent if it was removed before the next rendering. */
  row: TreeRow | undefined;
  openKey: string | null;
  changed: ReadonlySet<string>;
}

export function TreeCells({ row, openKey, changed }: TreeCellsProps): { class?: string; cells: ComponentChildren } {
  if (!row) return { cells: null };
  const indent = { paddingLeft: `${row.depth * INDENT}px` };
  if (row.kind === 'more')
    return {
      class: 'quiet',
      cells: (
        <span role="gridcell" style={indent}>
          {row.error !== undefined ? messageOf(row.error) : row.isLoading ? 'Loading …' : moreText(row.count)}
        </span>
      ),
    };
  if (row.kind === 'key')
    return {
      class: [changed.has(row.key) && 'just-changed', row.key === openKey && 'opened'].filter(Boolean).join(' '),
      cells: (
        <span role="gridcell" class="tree-name" style={indent} title={row.key}>
          <span class="tree-gap" />
          {row.name}
        </span>
      ),
    };
  const { prefix, name, isOpen, isComplete, count } = row;
  const framework = frameworkOfPrefix(prefix);
  const hasChanged = !isOpen && [...changed].some((key) => key.startsWith(prefix));
  return {
    class: hasChanged ? 'just-changed' : '',
    cells: (
      <>
        <span role="gridcell" class="tree-name" style={indent} title={`${prefix}…`}>
          <Icon name={isOpen ? 'down' : 'right'} />
          <span class="unseen">{isOpen ? 'open' : 'closed'} </span>
          {name} {framework !== null && <span class="quiet">{framework}</span>}
        </span>
        <span role="gridcell" class="number quiet">
          {isComplete ? countText(count) : `at least ${countText(count)}`}
        </span>
      </>
    ),
  };
}

function moreText(count: number): string {
  return count === 0 ? 'Not loaded yet: load' : `${countText(count)} loaded: load more`;
}
