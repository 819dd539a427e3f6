/** Rules that the interface of the SDK leaves to the session: two writers, retries, large items and bad input. */
import type { AgentInputItem, SessionHistoryTransactionArgs } from '@openai/agents-core';
import { memoryStore, OWNER_LABEL, type Store } from '@tidemark/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSession } from '../src/index.ts';
import { functionCall, message, textsOf } from './items.ts';

describe.each(Object.keys(ENGINES))('on %s', (engine) => {
  let store: Store;
  let sessionId: string;
  const open = () => new TidemarkSession(store, { sessionId });
  beforeAll(async () => {
    store = await ENGINES[engine]!();
  });
  afterAll(() => store?.close());
  beforeEach(() => {
    sessionId = crypto.randomUUID();
  });

  it('returns each item to one of two callers that pop at once', async () => {
    const [first, second] = [open(), open()];
    await first.addItems(Array.from({ length: 12 }, (_, at) => message(`m${at}`)));
    const popAll = async (session: TidemarkSession) => {
      const popped: AgentInputItem[] = [];
      for (;;) {
        const item = await session.popItem();
        if (item === undefined) return popped;
        popped.push(item);
      }
    };
    const popped = (await Promise.all([popAll(first), popAll(second)])).flat();
    expect(textsOf(popped).sort()).toEqual(Array.from({ length: 12 }, (_, at) => `m${at}`).sort());
  });

  it('applies a transaction once that two processes send at once', async () => {
    await open().addItems([message('a'), message('b')]);
    const args: SessionHistoryTransactionArgs = {
      operationId: 'turn-1',
      transaction: {
        type: 'replace_suffix',
        expectedSuffix: [message('b')],
        replacement: [message('c'), message('d')],
      },
    };
    await Promise.all([open().applyHistoryTransaction(args), open().applyHistoryTransaction(args)]);
    expect(textsOf(await open().getItems())).toEqual(['a', 'c', 'd']);
    const other = { ...args, transaction: { type: 'append_items' as const, items: [message('e')] } };
    await expect(open().applyHistoryTransaction(other)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(textsOf(await open().getItems())).toEqual(['a', 'c', 'd']);
  });

  it('lets one of two replacements of the same end take effect', async () => {
    await open().addItems([message('a')]);
    const replace = (text: string) =>
      open().applyHistoryTransaction({
        operationId: text,
        transaction: { type: 'replace_suffix', expectedSuffix: [message('a')], replacement: [message(text)] },
      });
    const outcomes = await Promise.allSettled([replace('b'), replace('c')]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const winner = outcomes[0]!.status === 'fulfilled' ? 'b' : 'c';
    expect(textsOf(await open().getItems())).toEqual([winner]);
  });

  it('keeps both when one process adds items while another replaces a function call', async () => {
    await open().addItems([functionCall('call-1', 'in_progress'), message('wait')]);
    await Promise.all([
      open().applyHistoryMutations({
        mutations: [{ type: 'replace_function_call', callId: 'call-1', replacement: functionCall('call-1') }],
      }),
      open().addItems([message('more')]),
    ]);
    const items = await open().getItems();
    expect(items[0]).toEqual(functionCall('call-1'));
    expect(textsOf(items.slice(1))).toEqual(['wait', 'more']);
  });

  it('begins again after it was cleared, even in an object that has not seen the clearing', async () => {
    const [first, second] = [open(), open()];
    await first.addItems([message('a')]);
    await first.applyHistoryTransaction({
      operationId: 'turn-1',
      transaction: { type: 'append_items', items: [message('b')] },
    });
    await second.clearSession();
    expect(await first.getItems()).toEqual([]);
    expect(await first.popItem()).toBeUndefined();
    await first.applyHistoryTransaction({
      operationId: 'turn-1',
      transaction: { type: 'append_items', items: [message('c')] },
    });
    expect(textsOf(await second.getItems())).toEqual(['c']);
    const { items } = await store.runs.listRuns({
      labels: { [OWNER_LABEL]: 'openai-agents', 'tidemark.name': sessionId },
    });
    expect(items).toHaveLength(1);
  });

  it('returns items that are larger than a payload', async () => {
    const large = '"é\0𝄞'.repeat(250_000);
    const session = open();
    const append: SessionHistoryTransactionArgs = {
      operationId: 'large',
      transaction: { type: 'append_items', items: [message(large), message('b')] },
    };
    await session.addItems([message('a')]);
    await session.applyHistoryTransaction(append);
    await session.applyHistoryTransaction(append);
    const larger = {
      operationId: 'large',
      transaction: { type: 'append_items' as const, items: [message(`${large}${large}`)] },
    };
    await expect(session.applyHistoryTransaction(larger)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await session.popItem()).toEqual(message('b'));
    expect(await open().getItems()).toEqual([message('a'), message(large)]);
    expect(await open().getItems(1)).toEqual([message(large)]);
  });
});

it('rejects bad input before it stores anything', async () => {
  const session = new TidemarkSession(memoryStore(), { sessionId: 'chat' });
  const refused: [() => Promise<unknown>, string, string][] = [
    [() => session.addItems([message('a'), 7 as never]), 'INVALID_ARGUMENT', 'items[1]'],
    [() => session.addItems({} as never), 'INVALID_ARGUMENT', 'items'],
    [() => session.applyHistoryTransaction({ operationId: ' ' } as never), 'INVALID_ARGUMENT', 'operationId'],
    [
      () => session.applyHistoryTransaction({ operationId: 'a', transaction: { type: 'x' } } as never),
      'INVALID_ARGUMENT',
      'transaction.type',
    ],
    [
      () => session.applyHistoryMutations({ mutations: [{ type: 'x' }] } as never),
      'INVALID_ARGUMENT',
      'mutations[0].type',
    ],
    [
      () => session.addItems([{ type: 'unknown', providerData: { n: Number.NaN } }]),
      'INVALID_PAYLOAD',
      'change.items[0].providerData.n',
    ],
  ];
  for (const [call, code, field] of refused) await expect(call()).rejects.toMatchObject({ code, field });
  expect(await session.getItems()).toEqual([]);
  expect(() => new TidemarkSession({} as never)).toThrow('store must be an open Tidemark store');
  expect(() => new TidemarkSession(memoryStore(), { sessionId: '' })).toThrow('sessionId must be text');
});
