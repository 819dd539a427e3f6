/** Random call sequences must return what the SDK's in-memory session returns, on every engine. */
import {
  type AgentInputItem,
  MemorySession,
  type SessionHistoryRewriteArgs,
  type SessionHistoryTransactionArgs,
} from '@openai/agents-core';
import type { Store } from '@tidemark/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { sequencesOn } from '../../../scripts/adapters/sequences.ts';
import { TidemarkSession } from '../src/index.ts';
import { functionCall, message } from './items.ts';

type Call =
  | { name: 'getItems'; limit: number | undefined }
  | { name: 'addItems'; items: AgentInputItem[] }
  | { name: 'popItem' | 'clearSession' }
  | { name: 'applyHistoryMutations'; args: SessionHistoryRewriteArgs }
  | { name: 'append'; operationId: string; items: AgentInputItem[] }
  /** Replaces the last `count` items as they are, or an invented end of the history. */
  | { name: 'replace'; operationId: string; count: number; isInvented: boolean; items: AgentInputItem[] };

const callId = fc.constantFrom('call-1', 'call-2');
const item: fc.Arbitrary<AgentInputItem> = fc.oneof(
  fc.constantFrom(message('yes'), message('no')),
  fc.string({ unit: 'binary' }).map(message),
  fc
    .record({ callId, isDone: fc.boolean() })
    .map(({ callId: id, isDone }) => functionCall(id, isDone ? 'completed' : 'in_progress')),
  fc.record({ type: fc.constant('unknown' as const), providerData: fc.dictionary(fc.string(), json()) }),
  fc.uint8Array({ maxLength: 40 }).map(
    (image): AgentInputItem => ({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: 'see', providerData: { image, 'tidemark.bytes': 'own' } }],
    }),
  ),
);
const items = fc.array(item, { maxLength: 4 });
const operationId = fc.constantFrom('operation 1', 'operation/2', 'o'.repeat(300));
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      name: fc.constant('getItems' as const),
      limit: fc.oneof(fc.constant(undefined), fc.integer({ min: -1, max: 9 })),
    }),
  },
  { weight: 4, arbitrary: fc.record({ name: fc.constant('addItems' as const), items }) },
  { weight: 3, arbitrary: fc.record({ name: fc.constant('popItem' as const) }) },
  { weight: 1, arbitrary: fc.record({ name: fc.constant('clearSession' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constant('applyHistoryMutations' as const),
      args: fc.record({
        mutations: fc.array(
          callId.map((id) => ({
            type: 'replace_function_call' as const,
            callId: id,
            replacement: { ...functionCall(id), name: 'approved' },
          })),
          { maxLength: 2 },
        ),
      }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ name: fc.constant('append' as const), operationId, items }) },
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constant('replace' as const),
      operationId,
      count: fc.nat(3),
      isInvented: fc.boolean(),
      items,
    }),
  },
);

describe.each(Object.keys(ENGINES))('on %s', (engine) => {
  let store: Store;
  beforeAll(async () => {
    store = await ENGINES[engine]!();
  });
  afterAll(() => store?.close());

  it('returns what MemorySession returns', { timeout: 900_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 14 }), async (calls) => {
        const sessionId = crypto.randomUUID();
        const oracle = new MemorySession({ sessionId });
        for (const one of calls) {
          // A new object for each call: everything must be in the store.
          const ours = new TidemarkSession(store, { sessionId });
          const expected = await answerOf(oracle, one, await oracle.getItems());
          expect(await answerOf(ours, one, await ours.getItems())).toEqual(expected);
        }
        expect(await new TidemarkSession(store, { sessionId }).getItems()).toEqual(await oracle.getItems());
      }),
      { numRuns: sequencesOn(engine) },
    );
  });
});

/** Returns the answer of a session, or `refused`. */
async function answerOf(session: MemorySession | TidemarkSession, one: Call, before: AgentInputItem[]) {
  switch (one.name) {
    case 'getItems':
      return session.getItems(one.limit);
    case 'addItems':
      return session.addItems(one.items);
    case 'popItem':
      return session.popItem();
    case 'clearSession':
      return session.clearSession();
    case 'applyHistoryMutations':
      return session.applyHistoryMutations(one.args);
    case 'append':
      return outcomeOf(session, {
        operationId: one.operationId,
        transaction: { type: 'append_items', items: one.items },
      });
    case 'replace': {
      const suffix = one.count === 0 ? [] : before.slice(-one.count);
      const expectedSuffix = one.isInvented ? [...suffix, message('invented')] : suffix;
      return outcomeOf(session, {
        operationId: one.operationId,
        transaction: { type: 'replace_suffix', expectedSuffix, replacement: one.items },
      });
    }
  }
}

function outcomeOf(session: MemorySession | TidemarkSession, args: SessionHistoryTransactionArgs) {
  return session.applyHistoryTransaction(args).then(
    () => 'applied',
    () => 'refused',
  );
}

/** Returns values that JSON returns unchanged. */
function json() {
  return fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
}
