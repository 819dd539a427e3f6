/** Merges lists in byte order of ids, holding one item of each in memory. */
import { compareKeys } from '@tidemark/core/engine';

/** The items of one id; `null` if a list has none. */
export interface Row<Items extends readonly unknown[]> {
  id: string;
  items: { [At in keyof Items]: Items[At] | null };
}

/** Yields one row per id of several lists, in byte order. */
export async function* sideBySide<Items extends readonly { id: string }[]>(
  ...lists: { [At in keyof Items]: AsyncIterable<Items[At]> }
): AsyncGenerator<Row<Items>, void, undefined> {
  const iterators = lists.map((list) => list[Symbol.asyncIterator]() as AsyncIterator<Items[number]>);
  try {
    const heads = await Promise.all(iterators.map((it) => it.next()));
    for (;;) {
      const ids = heads.flatMap((head) => (head.done ? [] : [head.value.id]));
      if (ids.length === 0) return;
      const id = ids.reduce((first, it) => (compareKeys(it, first) < 0 ? it : first));
      const items = heads.map((head) => (!head.done && head.value.id === id ? head.value : null));
      yield { id, items: items as Row<Items>['items'] };
      for (const [at, item] of items.entries()) if (item !== null) heads[at] = await iterators[at]!.next();
    }
  } finally {
    await Promise.all(iterators.map((it) => it.return?.()));
  }
}
