/** Copies ordered lists. The common beginning stays, and the rest is saved again. */
import { sameJson } from '@tidemark/core/engine';
import type { CopyUnit } from './unit.ts';

const BATCH = 500;

export interface Sequence<T> {
  id: string;
  source: () => AsyncIterable<T>;
  target: () => AsyncIterable<T>;
  /** Must change nothing for items that are already stored. */
  save: (items: T[]) => Promise<void>;
}

export function sequenceUnit<T>({ id, source, target, save }: Sequence<T>): CopyUnit {
  return {
    id,
    async copy() {
      let same = 0;
      let copied = 0;
      let batch: T[] = [];
      for await (const { ours, isSame } of besides(source(), target())) {
        if (isSame) {
          same++;
          continue;
        }
        if (ours === ENDED) break;
        batch.push(ours);
        copied++;
        if (batch.length < BATCH) continue;
        await save(batch);
        batch = [];
      }
      if (batch.length > 0) await save(batch);
      return { copied, same };
    },
    async compare() {
      let count = 0;
      for await (const { isSame } of besides(source(), target())) if (!isSame) count++;
      return count === 0 ? null : { count, reason: 'the lists differ' };
    },
  };
}

const ENDED = Symbol('ended');

/**
 * Pairs two lists. After the first difference, all pairs count as different and the second list is not read any
 * further.
 */
async function* besides<T>(ours: AsyncIterable<T>, theirs: AsyncIterable<T>) {
  const others = theirs[Symbol.asyncIterator]();
  let isSame = true;
  try {
    for await (const item of ours) {
      if (isSame) {
        const other = await others.next();
        isSame = !other.done && sameJson(item, other.value);
      }
      yield { ours: item, isSame };
    }
    const isLonger = isSame && !(await others.next()).done;
    if (isLonger) yield { ours: ENDED, isSame: false } as const;
  } finally {
    await others.return?.();
  }
}

/** Yields the items of a list that a single call returns. */
export async function* listed<T>(read: () => Promise<readonly T[]>): AsyncGenerator<T> {
  yield* await read();
}
