/**
 * The job index in SQL: equal to the memory engine's after any writes, and no extra statements for records that are not
 * jobs.
 */
import { memoryStore } from '@tidemark/core';
import { engineOf, type Records, type RecordWrite } from '@tidemark/core/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eachTest, type TestFile, type TestStore } from './database.ts';

const KEYS = ['gbe.state.tasks.a.1', 'gbe.state.tasks.a.2', 'gbe.state.tasks.a-b.1', 'gbe.state.tasks.ä.1', 'plain'];
const STATES = ['pending', 'claimed', 'running', 'failed', 'completed', 'nonsense'];

const value = (...values: string[]) => fc.option(fc.constantFrom(...values), { nil: null });
const write = fc.record({
  key: fc.constantFrom(...KEYS),
  mode: fc.constantFrom('merge', 'merge', 'replace', 'delete'),
  set: fc.record(
    {
      state: value(...STATES),
      updated_at: value('1', '20', 'never'),
      created_at: value('3', '40'),
      timeout_at: value('5', '60'),
      run_at: value('7', '-1'),
      claim_id: value('c', 'c/d'),
      priority: value('-5', '9'),
      unannounced: value('true'),
    },
    { requiredKeys: [] },
  ),
  stamp: fc.constantFrom<(string | null)[]>(null, null, 'updated_at', 'run_at'),
  ttlMs: fc.constantFrom(undefined, undefined, null, 50, 1_000),
  wait: fc.constantFrom(0, 0, 0, 60),
});
type Written = typeof write extends fc.Arbitrary<infer T> ? T : never;

let file: TestFile;
let store: TestStore;

eachTest((opened, onFile) => {
  [file, store] = [opened, onFile];
});

function stepOf({ key, mode, set, stamp, ttlMs }: Written, tenantId: string): RecordWrite {
  const fields = Object.entries(set).map(
    ([field, text]) => [field, text === null ? null : Buffer.from(text ?? '')] as const,
  );
  return {
    name: { space: 'kv', tenantId, key },
    mode: mode as RecordWrite['mode'],
    set: new Map(fields),
    stamps: new Map(stamp === null ? [] : [[stamp, 10]]),
    ttlMs,
  };
}

/** All index entries with their keys, read two at a time. */
async function indexKeysIn(records: Records, tenantId: string): Promise<string[]> {
  const seen: string[] = [];
  for (let after: { indexKey: string; key: string } | undefined; ; ) {
    const page = await records.scanIndex(tenantId, { from: '', to: '~', after, limit: 2 }, {});
    seen.push(...page.map(({ indexKey, key }) => `${indexKey} ${key}`));
    if (page.length < 2) return seen;
    after = page.at(-1);
  }
}

describe('the job index in SQL', () => {
  it('equals that of the memory engine after any writes, expiries and removals (KV-7, KV-8)', async () => {
    const records = engineOf(store)!.kv!;
    let now = 1_000;
    const advance = (ms: number) => {
      now += ms;
    };
    file.clock = () => now;
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), async (writes) => {
        const tenantId = `tenant-${++round}`;
        const memory = memoryStore({ clock: () => now });
        const model = engineOf(memory)!.kv!;
        for (const it of writes) {
          advance(it.wait);
          const step = stepOf(it, tenantId);
          const [inSql, inMemory] = [await records.write(step, {}), await model.write(step, {})];
          expect(inSql.record?.fields.size).toBe(inMemory.record?.fields.size);
          expect(await indexKeysIn(records, tenantId)).toEqual(await indexKeysIn(model, tenantId));
          if (it.wait > 0) await records.removeExpired(100, {});
        }
        await memory.close();
      }),
      { numRuns: 100 },
    );
    advance(10_000);
    await records.removeExpired(100_000, {});
    const left = store.database.handle.prepare(
      'SELECT count(*) AS count FROM kv_places LEFT JOIN kv_records USING (tenant_id, key) WHERE revision IS NULL',
    );
    expect(left.get(), 'no index key outlives its record').toEqual({ count: 0 });
  });

  it('is read through the index alone', () => {
    const plan = store.database.handle
      .prepare(
        `EXPLAIN QUERY PLAN SELECT place.key FROM kv_places AS place
           JOIN kv_records AS record ON record.tenant_id = place.tenant_id AND record.key = place.key
          WHERE place.tenant_id = 'a' AND place.place >= 'b' AND place.place < 'c' ORDER BY place.place, place.key LIMIT 1`,
      )
      .all()
      .map((row) => String(row.detail));
    expect(plan).toEqual([
      expect.stringContaining('SEARCH place USING PRIMARY KEY (tenant_id=? AND place>? AND place<?)'),
      expect.stringContaining('SEARCH record USING PRIMARY KEY (tenant_id=? AND key=?)'),
    ]);
  });

  it('costs nothing for plain records, and for a heartbeat only the entries that move', async () => {
    await store.kv.put('key', { state: 'pending' });
    await store.jobs.enqueue({ taskType: 'a', taskId: '1' });
    const claim = (await store.jobs.claim({ taskType: 'a' }, { worker: 'w' }))!;
    store.database.statements.length = 0;
    await store.kv.setField('key', 'state', 'claimed');
    expect(store.database.statements.filter((sql) => sql.includes('kv_places'))).toEqual([]);
    file.advance(5);
    await store.jobs.heartbeat(claim);
    expect(store.database.statements.filter((sql) => sql.includes('kv_places'))).toHaveLength(2);
  });
});
