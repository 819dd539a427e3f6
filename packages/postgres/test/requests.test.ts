/** A request that makes a record, beside a retry of itself: no row can be locked that is not there, so their id is what they meet at. */
import { setTimeout as sleep } from 'node:timers/promises';
import { requestName } from '@tidemark/core/engine';
import { describe, expect, it } from 'vitest';
import { newDatabase, openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';

describe.skipIf(WITHOUT_POSTGRES)('a retry that comes between a look and a write', () => {
  const name = { space: 'kv', tenantId: 'default', key: 'k' } as const;

  /** Another process that has carried out the request and is about to commit; the record it made is deleted again by then. */
  async function rival(url: string, id: string) {
    const client = await openClient(url);
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO tidemark.requests (tenant_id, id, answer, forget_at) VALUES ('default', $1, '', 9e15::bigint)`,
      [id],
    );
    return client;
  }

  it('is found when it commits, and the request is answered without being applied again', async () => {
    const url = await newDatabase();
    const { kv } = await openStore(url);
    const other = await rival(url, requestName(name, 'request').key);
    const swapping = kv.compareAndSwap('k', 'state', null, 'x', { requestId: 'request' });
    await sleep(200);
    await other.query('COMMIT');
    expect(await swapping).toBe(true);
    expect(await kv.get('k')).toBeNull();
  });

  it('does not stand in the way when it was rolled back', async () => {
    const url = await newDatabase();
    const { kv } = await openStore(url);
    const other = await rival(url, requestName(name, 'request').key);
    const swapping = kv.compareAndSwap('k', 'state', null, 'x', { requestId: 'request' });
    await sleep(200);
    await other.query('ROLLBACK');
    expect(await swapping).toBe(true);
    expect(await kv.getField('k', 'state')).toEqual(new Uint8Array(Buffer.from('x')));
  });
});
