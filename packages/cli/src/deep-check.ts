/** Walks everything a store holds with its chains and checksums: in steps, at a bounded rate, from where an earlier walk stopped. */

import type { CheckPage, DamagedValue } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import type { CommandContext } from './command.ts';
import { integer, text } from './options.ts';
import type { View } from './output.ts';

/** Options of commands that walk everything. */
export const WALK_OPTIONS = {
  rate: integer('n', 'values a second at most, to leave room for writers; default as many as can be read', 1),
  resume: text('cursor', 'where an interrupted walk said to go on'),
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

/** What a walk has come to. */
export interface WalkCounts {
  checked: number;
  unsummed: number;
  damaged: number;
  /** Where it goes on when it was interrupted. */
  next: string | undefined;
}

const PAGE = 100;

type WalkContext = Pick<CommandContext<unknown, { rate?: number; resume?: string }>, 'store' | 'io' | 'options'> &
  Pick<CommandContext<unknown, unknown>, 'patient' | 'progress'>;

/** Yields what is damaged as it is found; `counts` grows with every step. */
export async function* walkEverything(context: WalkContext, counts: WalkCounts): AsyncGenerator<DamagedValue> {
  const { io, options, patient } = context;
  const { admin } = await context.store({ mustExist: true });
  const { rate, resume } = options;
  const bar = context.progress('checking');
  const began = performance.now();
  counts.next = resume;
  try {
    for (let isMore = true; isMore && !io.signal.aborted; ) {
      const limit = Math.max(1, Math.min(PAGE, rate ?? PAGE));
      const page: CheckPage = await admin.check({ ...patient, cursor: counts.next, limit });
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

/** How an interrupted walk is continued. */
export function resumeNote({ checked, next }: WalkCounts): string {
  return `Interrupted after ${checked} values; go on with --resume ${next}`;
}
