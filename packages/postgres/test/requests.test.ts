/**
 * A request that creates a record, concurrent with its own retry. An absent row cannot be locked, so both insert the
 * request id.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { requestName } from '@tidemark/core/engine';
import { describe, expect, it } from 'vitest';
import { newDatabase, openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';

describe.skipIf(WITHOUT_POSTGRES)('a retry between a read and a write', () => {
  const name = { space: 'kv', tenantId: 'default', key: 'k' } as const;

  /**
   * Another process that has executed the request and is about to commit. The record it created is already deleted
   * again.
   */
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

  it('has no effect when it was rolled back', async () => {
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
