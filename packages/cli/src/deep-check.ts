/** Checks all stored data against its hash chains and checksums, page by page, at a bounded rate. It can be resumed. */

import type { CheckPage, DamagedValue } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import type { CommandContext } from './command.ts';
import { integer, text } from './options.ts';
import type { View } from './output.ts';

/** Options of commands that check all stored data. */
export const WALK_OPTIONS = {
  rate: integer('n', 'maximum number of values per second, to leave capacity for writers (default: unlimited)', 1),
  resume: text('cursor', 'continue an interrupted check from the cursor it printed'),
};

export const DAMAGE: View<DamagedValue> = {
  columns: [
    { title: 'PART', of: ({ part }) => part },
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'NAME', of: ({ name }) => name },
    { title: 'DAMAGE', of: ({ reason }) => reason },
  ],
  id: ({ name }) => name,
};

/** The progress of a check. */
export interface WalkCounts {
  checked: number;
  unsummed: number;
  damaged: number;
  /** The cursor to resume from; `undefined` at the end. */
  next: string | undefined;
}

const PAGE = 100;

type WalkContext = Pick<CommandContext<unknown, { rate?: number; resume?: string }>, 'store' | 'io' | 'options'> &
  Pick<CommandContext<unknown, unknown>, 'longCall' | 'progress'>;

/** Yields damaged values as they are found, and updates `counts` after every page. */
export async function* walkEverything(context: WalkContext, counts: WalkCounts): AsyncGenerator<DamagedValue> {
  const { io, options, longCall } = context;
  const { admin } = await context.store({ mustExist: true });
  const { rate, resume } = options;
  const bar = context.progress('checking');
  const began = performance.now();
  counts.next = resume;
  try {
    for (let isMore = true; isMore && !io.signal.aborted; ) {
      const limit = Math.max(1, Math.min(PAGE, rate ?? PAGE));
      const page: CheckPage = await admin.check({ ...longCall, cursor: counts.next, limit });
      counts.checked += page.checked;
      counts.unsummed += page.unsummed;
      counts.damaged += page.damaged.length;
      counts.next = page.next;
      bar.to(counts.checked);
      yield* page.damaged;
      const ahead = rate === undefined ? 0 : (counts.checked / rate) * 1_000 - (performance.now() - began);
      if (ahead > 0) await sleep(ahead, io.signal);
      isMore = counts.next !== undefined;
    }
  } finally {
    bar.end();
  }
}

export function newCounts(): WalkCounts {
  return { checked: 0, unsummed: 0, damaged: 0, next: undefined };
}

/** Returns the note on how to resume an interrupted check. */
export function resumeNote({ checked, next }: WalkCounts): string {
  return `Interrupted after ${checked} values; continue with --resume ${next}`;
}
