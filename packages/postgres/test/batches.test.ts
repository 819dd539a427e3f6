/** Batches on PostgreSQL: rows are locked in the order of keys, so that batches never wait for each other in a circle. */
import type { KvOperation, Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { newDatabase, openStore, WITHOUT_POSTGRES } from './databases.ts';
import { withClient } from './servers.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const ROUNDS = 12;

/** A small generator, so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

function operationsOf(random: (below: number) => number, by: string): KvOperation[] {
  const keys = KEYS.filter(() => random(3) > 0);
  const order = random(2) === 0 ? keys : keys.toReversed();
  const operations = order.map((key): KvOperation => {
    const kind = random(3);
    if (kind === 0) return { op: 'delete', key };
    return kind === 1 ? { op: 'put', key, fields: { by } } : { op: 'setFields', key, fields: { [by]: '1' } };
  });
  return operations.length > 0 ? operations : [{ op: 'put', key: 'a', fields: { by } }];
}

async function writeBatches({ kv }: Store, writer: number): Promise<void> {
  const random = numbers(writer + 1);
  for (let round = 0; round < ROUNDS; round++) {
    const requestId = `${writer}.${round}`;
    const operations = operationsOf(random, `w${writer}`);
    const result = await kv.batch(operations, { requestId });
    expect(result.written).toBe(true);
    if (random(3) === 0) expect(await kv.batch(operations, { requestId })).toEqual(result);
  }
}

async function writeSingly({ kv }: Store): Promise<void> {
  const random = numbers(99);
  for (let round = 0; round < 3 * ROUNDS; round++) {
    const key = KEYS[random(KEYS.length)]!;
    if (random(2) === 0) await kv.delete(key, { requestId: `d${round}` });
    else await kv.setField(key, 'single', round, { requestId: `s${round}` });
  }
}

/** Many writers wait for a few rows, on a machine that may be busy. */
const open = (url: string) => openStore(url, { timeoutMs: 60_000 });

describe.skipIf(WITHOUT_POSTGRES)('batches over the same keys in any order', () => {
  it('never deadlock, even with concurrent single writes that create and delete their records', {
    timeout: 120_000,
  }, async () => {
    const url = await newDatabase();
    const stores = await Promise.all([open(url), open(url)]);
    const writers = [0, 1, 2, 3, 4].map((writer) => writeBatches(stores[writer % 2]!, writer));
    await Promise.all([...writers, writeSingly(stores[0]!), writeSingly(stores[1]!)]);
    // The server counts what a connection did when it ends.
    await Promise.all(stores.map((store) => store.close()));
    const counted = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
    const { rows } = await withClient(url, (client) => client.query(counted));
    expect(Number(rows[0].deadlocks)).toBe(0);
  });
});
