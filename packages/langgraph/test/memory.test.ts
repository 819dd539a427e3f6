/** Compares `TidemarkStore` with LangGraph's in-memory store: random calls must return the same results. */
import { InMemoryStore } from '@langchain/langgraph-checkpoint';
import type { Store } from '@tidemark/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { sequencesOn } from '../../../scripts/adapters/sequences.ts';
import { TidemarkStore } from '../src/index.ts';

/** No label is the beginning of another: the in-memory store compares joined text and would mix them up. */
const label = fc.constantFrom('users', 'notes', 'x y', 'Ünï', '%_*', '__proto__', 'L'.repeat(120));
const namespace = fc.array(label, { minLength: 1, maxLength: 6 });
const key = fc.constantFrom('one', 'two', 'a.b', '', '__proto__', '😀', 'k'.repeat(600));
const value = fc.record({ n: fc.integer({ min: -3, max: 12 }), kind: fc.constantFrom('a', 'b'), text: fc.string() });
const filter = fc.oneof(
  fc.record({ kind: fc.constantFrom('a', 'b') }),
  fc.record({ n: fc.record({ $gte: fc.integer({ min: 0, max: 5 }), $lt: fc.integer({ min: 5, max: 12 }) }) }),
  fc.record({
    n: fc.oneof(fc.record({ $in: fc.array(fc.integer({ min: 0, max: 9 })) }), fc.record({ $ne: fc.constant(3) })),
  }),
);
const operation = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), namespace, key, value }),
  fc.record({ kind: fc.constant('get' as const), namespace, key }),
  fc.record({ kind: fc.constant('delete' as const), namespace, key }),
  fc.record({
    kind: fc.constant('search' as const),
    prefix: fc.array(label, { maxLength: 3 }),
    filter: fc.option(filter),
  }),
  fc.record({
    kind: fc.constant('namespaces' as const),
    prefix: fc.option(fc.array(fc.oneof(label, fc.constant('*')), { minLength: 1, maxLength: 2 })),
    suffix: fc.option(fc.array(label, { minLength: 1, maxLength: 2 })),
    maxDepth: fc.option(fc.integer({ min: 1, max: 3 })),
  }),
);
type Step = typeof operation extends fc.Arbitrary<infer It> ? It : never;

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`long-term memory on ${engine}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await openStore();
    });
    afterAll(() => store?.close());

    it('returns the same results as the in-memory store for random calls', async () => {
      let count = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (steps) => {
          const tenant = store.forTenant(`t${count++}`);
          const ours = new TidemarkStore(tenant, { compress: count % 2 === 0 });
          const oracle = new InMemoryStore();
          for (const step of steps) expect(await answerOf(ours, step)).toEqual(await answerOf(oracle, step));
        }),
        { numRuns: sequencesOn(engine), seed: 7 },
      );
    });

    it('keeps the creation time when an item is stored again', async () => {
      const ours = new TidemarkStore(store.forTenant('times'));
      await ours.put(['a'], 'k', { n: 1 });
      const first = (await ours.get(['a'], 'k'))!;
      await new Promise((resolve) => setTimeout(resolve, 5));
      await ours.put(['a'], 'k', { n: 2 });
      const second = (await ours.get(['a'], 'k'))!;
      expect(second.createdAt).toEqual(first.createdAt);
      expect(second.updatedAt.getTime()).toBeGreaterThan(first.updatedAt.getTime());
      expect(second.value).toEqual({ n: 2 });
    });

    it('does not take a namespace for the prefix of another label', async () => {
      const ours = new TidemarkStore(store.forTenant('prefix'));
      await ours.put(['user'], 'k', { n: 1 });
      await ours.put(['users'], 'k', { n: 2 });
      expect((await ours.search(['user'])).map(({ namespace }) => namespace)).toEqual([['user']]);
    });

    it('stores values that are larger than a field', async () => {
      const ours = new TidemarkStore(store.forTenant('large'));
      const text = 'x'.repeat(1_500_000);
      await ours.put(['a'], 'large', { text });
      expect((await ours.get(['a'], 'large'))!.value).toEqual({ text });
      await ours.put(['a'], 'large', { text: 'small' });
      expect((await ours.get(['a'], 'large'))!.value).toEqual({ text: 'small' });
    });

    it('rejects a search by vectors and a value that is not an object', async () => {
      const ours = new TidemarkStore(store);
      await expect(ours.search(['a'], { query: 'cats' })).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        field: 'query',
      });
      const put = { namespace: ['a'], key: 'k', value: [] as unknown as Record<string, unknown> };
      await expect(ours.batch([put])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'value' });
    });
  });
}

/** Runs a call and returns what both stores must agree on. Times differ, and so does the order of a search. */
async function answerOf(store: TidemarkStore | InMemoryStore, step: Step): Promise<unknown> {
  if (step.kind === 'put') return store.put(step.namespace, step.key, step.value);
  if (step.kind === 'delete') return store.delete(step.namespace, step.key);
  if (step.kind === 'get') {
    const item = await store.get(step.namespace, step.key);
    return item && { namespace: item.namespace, key: item.key, value: item.value };
  }
  if (step.kind === 'search') {
    const items = await store.search(step.prefix, { limit: 1_000, ...(step.filter && { filter: step.filter }) });
    return items.map((it) => JSON.stringify([it.namespace, it.key, it.value.n, it.value.kind, it.value.text])).sort();
  }
  const { prefix, suffix, maxDepth } = step;
  const options = { ...(prefix && { prefix }), ...(suffix && { suffix }), ...(maxDepth && { maxDepth }), limit: 1_000 };
  const namespaces = await store.listNamespaces(options);
  if (maxDepth) return 'cut namespaces cannot be looked up';
  // The in-memory store still lists a namespace whose last item was deleted.
  const filled: string[] = [];
  for (const namespace of namespaces) {
    const items = await store.search(namespace, { limit: 1_000 });
    if (items.some((it) => it.namespace.length === namespace.length)) filled.push(JSON.stringify(namespace));
  }
  return filled.sort();
}
