/** The optional payload index: it finds everything that jsonb can hold, and does not affect other payloads. */
import { describe, expect, it } from 'vitest';
import { newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';

describe.skipIf(WITHOUT_POSTGRES)('payloadIndex', () => {
  it.each([undefined, 4])(
    'finds events by the contents of their payload, through the index (partitions: %s)',
    async (partitions) => {
      const url = await newDatabase();
      const store = await openStore(url, { payloadIndex: true, ...(partitions ? { partitions } : {}) });
      for (let order = 1; order <= 3; order++) {
        await store.runs.appendEvent({ ...runEvent(`order-${order}`), payload: { order: { number: order } } });
      }
      const client = await openClient(url);
      const query = `SELECT run_id FROM tidemark.run_events WHERE tidemark.searchable(payload) @> '{"order": {"number": 2}}'`;
      expect((await client.query(query)).rows).toEqual([{ run_id: 'order-2' }]);
      await client.query('SET enable_seqscan = off');
      const plan = (await client.query(`EXPLAIN ${query}`)).rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Bitmap Index Scan on run_events_\w+/);
      expect(plan).toContain('@>');
    },
  );

  it('still stores and returns payloads that jsonb cannot hold', async () => {
    const store = await openStore(await newDatabase(), { payloadIndex: true });
    const payloads = [{ text: 'a\0b' }, { text: 'a\ud800b' }, { found: true }];
    await store.runs.appendEvents(payloads.map((payload) => ({ ...runEvent('odd'), payload })));
    expect((await store.runs.fetchEvents('odd')).map(({ payload }) => payload)).toEqual(payloads);
  });

  it('does not exist by default', async () => {
    const url = await newDatabase();
    await openStore(url);
    const client = await openClient(url);
    const { rows } = await client.query(
      "SELECT 1 FROM pg_indexes WHERE schemaname = 'tidemark' AND indexdef LIKE '%gin%'",
    );
    expect(rows).toEqual([]);
  });
});
