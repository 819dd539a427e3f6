/** Damage in the tables: damaged data is refused, never returned, and everything else can still be read (KV-12). */
import { textOf } from '@tidemark/core';
import { beforeEach, describe, expect, it } from 'vitest';
import { eachTest, openTestStore, type TestFile, type TestStore } from './database.ts';

const AT = '2026-02-16T09:30:00.000Z';

let file: TestFile;
let store: TestStore;

eachTest((opened, onFile) => {
  [file, store] = [opened, onFile];
});

/** Changes a row as a flipped bit would, without firing triggers. */
function damage(sql: string, ...params: (string | number | Uint8Array)[]): void {
  const { handle } = store.database;
  const triggers = handle.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) handle.exec(`DROP TRIGGER ${name}`);
  expect(handle.prepare(sql).run(...params).changes).toBe(1);
  for (const { sql: text } of triggers) handle.exec(String(text));
}

const CORRUPT = { code: 'CORRUPT_VALUE', retryable: false, outcome: 'rejected' };

async function keysOf(prefix: string): Promise<string[]> {
  const keys: string[] = [];
  await expect(
    (async () => {
      for await (const { key } of store.kv.scan(prefix)) keys.push(key);
    })(),
  ).rejects.toMatchObject(CORRUPT);
  return keys;
}

describe('a damaged record', () => {
  const damages: Record<string, () => void> = {
    'with a changed value': () =>
      damage("UPDATE kv_fields SET value = ? WHERE key = 'b' AND field = 'x'", Buffer.from('3')),
    'with a field that was renamed': () => damage("UPDATE kv_fields SET field = 'z' WHERE key = 'b' AND field = 'x'"),
    'with a field that was lost': () => damage("DELETE FROM kv_fields WHERE key = 'b' AND field = 'x'"),
    'with a field of another record': () =>
      damage(
        "UPDATE kv_fields SET value = (SELECT value FROM kv_fields WHERE key = 'a') WHERE key = 'b' AND field = 'x'",
      ),
    'with another revision': () => damage("UPDATE kv_records SET revision = revision + 64 WHERE key = 'b'"),
    'that seems to have expired': () => damage("UPDATE kv_records SET expires_at = 1 WHERE key = 'b'"),
    'whose key was changed': () => damage("UPDATE kv_records SET key = 'b!' WHERE key = 'b'"),
  };

  beforeEach(async () => {
    for (const key of ['a', 'b', 'c']) await store.kv.put(key, { x: key === 'a' ? 'one' : '2', y: 'why' });
  });

  for (const [name, act] of Object.entries(damages)) {
    it(`${name} fails with CORRUPT_VALUE`, async () => {
      act();
      await expect(store.kv.get('b')).rejects.toMatchObject({ ...CORRUPT, field: 'b' });
      expect(await store.kv.get('a')).toMatchObject({ revision: 1 });
    });
  }

  it('is skipped in pages, which list it, and a scan continues to its end before it fails', async () => {
    damages['with a changed value']!();
    const page = await store.kv.scanPage('');
    expect(page.items.map(({ key }) => key)).toEqual(['a', 'c']);
    expect(page.damaged).toEqual(['b']);
    expect(await keysOf('')).toEqual(['a', 'c']);
  });

  it('is rejected by reads of a single field, whether changed or lost', async () => {
    damages['with a changed value']!();
    await expect(store.kv.getField('b', 'x')).rejects.toMatchObject(CORRUPT);
    expect(textOf((await store.kv.getField('b', 'y'))!)).toBe('why');
    damage("DELETE FROM kv_fields WHERE key = 'c' AND field = 'x'");
    await expect(store.kv.getField('c', 'x')).rejects.toMatchObject(CORRUPT);
  });

  it('is rejected by steps that need it and repaired by a step that replaces it', async () => {
    damages['with a changed value']!();
    await expect(store.kv.setField('b', 'y', 'new')).rejects.toMatchObject(CORRUPT);
    await store.kv.put('b', { x: 'again' });
    expect(textOf((await store.kv.get('b'))!.fields.x)).toBe('again');
  });

  it('does not end watches of other records', async () => {
    const watched = new AbortController();
    const seen: string[] = [];
    const other = openTestStore(file);
    const watching = (async () => {
      for await (const { key } of other.kv.watch('', { signal: watched.signal })) {
        seen.push(key);
        if (key === 'c') watched.abort();
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await store.kv.put('b', { x: 'changed' });
    damage("UPDATE kv_fields SET value = ? WHERE key = 'b'", Buffer.from('3'));
    await store.kv.put('c', { x: 'later' });
    await watching;
    expect(seen.at(-1)).toBe('c');
    await other.close();
  });
});

describe('a record from before checksums', () => {
  it('is returned unchecked, and gets checksums when it is written again', async () => {
    await store.kv.put('k', { x: '1', y: '2' });
    store.database.handle.exec('UPDATE kv_records SET sum = NULL; UPDATE kv_fields SET sum = NULL');
    damage("UPDATE kv_fields SET value = ? WHERE field = 'x'", Buffer.from('7'));
    expect(textOf((await store.kv.get('k'))!.fields.x)).toBe('7');
    await store.kv.setField('k', 'y', '3');
    damage("UPDATE kv_fields SET value = ? WHERE field = 'x'", Buffer.from('8'));
    await expect(store.kv.get('k')).rejects.toMatchObject(CORRUPT);
  });

  it('loses its checksums when an older version writes it', async () => {
    await store.kv.put('k', { x: '1' });
    store.database.handle.exec("UPDATE kv_records SET revision = revision + 1 WHERE key = 'k'");
    store.database.handle.exec("UPDATE kv_fields SET value = x'39' WHERE key = 'k'");
    expect(textOf((await store.kv.get('k'))!.fields.x)).toBe('9');
    expect(textOf((await store.kv.getField('k', 'x'))!)).toBe('9');
  });
});

describe('a damaged document', () => {
  const swap = (table: string, column: string, from: string, to: string) =>
    damage(`UPDATE ${table} SET ${column} = replace(${column}, ?, ?) WHERE ${column} LIKE ?`, from, to, `%${from}%`);

  it('fails with CORRUPT_VALUE for a memory state, while its neighbours are listed', async () => {
    await store.agents.saveMemoryState('a', { n: 'first' });
    await store.agents.saveMemoryState('b', { n: 'second' });
    swap('memory_states', 'state', 'first', 'fjrst');
    await expect(store.agents.loadMemoryState('a')).rejects.toMatchObject(CORRUPT);
    expect(await store.agents.loadMemoryState('b')).toEqual({ n: 'second' });
    damage("UPDATE memory_states SET version = 9 WHERE key = 'b'");
    expect(await store.agents.listMemory()).toMatchObject({ items: [{ key: 'a' }], damaged: ['b'] });
  });

  it('is skipped in a session page, which lists it; a plain list fails', async () => {
    for (const id of ['u1', 'u2', 'u3']) {
      const update = { sessionId: 's', taskId: 't', updateId: id, updateType: 'PROGRESS', createdAt: AT } as const;
      await store.agents.saveUpdate({ ...update, content: { text: `said ${id}` } });
    }
    swap('updates', 'body', 'said u2', 'sajd u2');
    const page = await store.agents.listUpdatesPage('s');
    expect(page.items.map(({ updateId }) => updateId)).toEqual(['u1', 'u3']);
    expect(page.damaged).toEqual(['s / u2']);
    await expect(store.agents.listUpdates('s')).rejects.toMatchObject(CORRUPT);
  });

  it('fails with CORRUPT_VALUE for flow events, tasks, trajectories, planner events, bindings and pauses', async () => {
    const { agents } = store;
    await agents.saveEvent({
      traceId: 't',
      ts: 1,
      kind: 'node_start',
      nodeName: null,
      nodeId: null,
      payload: { n: 1 },
    });
    damage("UPDATE flow_events SET kind = 'node_stop'");
    await expect(agents.loadHistory('t')).rejects.toMatchObject(CORRUPT);
    await agents.saveTrajectory('t', 's', { n: 'first' });
    swap('trajectories', 'body', 'first', 'fjrst');
    await expect(agents.getTrajectory('t', 's')).rejects.toMatchObject(CORRUPT);
    await agents.savePlannerEvent('t', { eventType: 'step', ts: 1, trajectoryStep: 0, extra: { n: 'first' } });
    swap('planner_events', 'body', 'first', 'fjrst');
    await expect(agents.listPlannerEvents('t')).rejects.toMatchObject(CORRUPT);
    await agents.saveRemoteBinding({ traceId: 't', contextId: null, taskId: 'x', agentUrl: 'http://one' });
    swap('remote_bindings', 'agent_url', 'one', 'two');
    await expect(agents.listRemoteBindings('t')).rejects.toMatchObject(CORRUPT);
    await agents.savePlannerState('token', { reason: 'approval', n: 1 });
    swap('planner_pauses', 'reason', 'approval', 'approvel');
    await expect(agents.peekPause('token')).rejects.toMatchObject(CORRUPT);
  });

  it('is detected when it moved to another row', async () => {
    await store.agents.saveMemoryState('a', { n: 1 });
    await store.agents.saveMemoryState('b', { n: 2 });
    damage("UPDATE memory_states SET state = (SELECT state FROM memory_states WHERE key = 'a') WHERE key = 'b'");
    await expect(store.agents.loadMemoryState('b')).rejects.toMatchObject(CORRUPT);
  });
});

describe('a damaged artifact', () => {
  it('is rejected before any byte of the damaged chunk is returned', async () => {
    const { id } = await store.artifacts.putBytes(new Uint8Array(600_000).fill(7));
    const { bytes } = store.database.handle.prepare('SELECT bytes FROM artifact_chunks WHERE part = 1').get()!;
    (bytes as Uint8Array)[10]! ^= 1;
    damage('UPDATE artifact_chunks SET bytes = ? WHERE part = 1', bytes as Uint8Array);
    let read = 0;
    const reading = (async () => {
      for await (const chunk of (await store.artifacts.getStream(id))!) read += chunk.length;
    })();
    await expect(reading).rejects.toMatchObject(CORRUPT);
    expect(read).toBe(256 * 1024);
  });

  it('is rejected in parts that touch the damaged chunk, and only in these', async () => {
    const chunk = 256 * 1024;
    const { id } = await store.artifacts.putBytes(new Uint8Array(2 * chunk + 10).fill(7));
    damage('UPDATE artifact_chunks SET bytes = zeroblob(length(bytes)) WHERE part = 1');
    const sizeOf = async (start: number, end: number) => {
      let read = 0;
      for await (const it of (await store.artifacts.getStream(id, { start, end }))!) read += it.length;
      return read;
    };
    expect(await sizeOf(chunk - 5, chunk)).toBe(5);
    expect(await sizeOf(2 * chunk, 2 * chunk + 3)).toBe(3);
    await expect(sizeOf(chunk - 1, chunk + 1)).rejects.toMatchObject(CORRUPT);
    await expect(sizeOf(2 * chunk - 1, 2 * chunk)).rejects.toMatchObject(CORRUPT);
  });

  it('is skipped in lists, which report it, if its reference was changed', async () => {
    const one = await store.artifacts.putText('one', { filename: 'one.txt' });
    const two = await store.artifacts.putText('two', { filename: 'two.txt' });
    damage("UPDATE artifacts SET filename = 'twa.txt' WHERE filename = 'two.txt'");
    const page = await store.artifacts.list({});
    expect(page.items.map(({ id }) => id)).toEqual([one.id]);
    expect(page.damaged).toEqual([two.id]);
    await expect(store.artifacts.getRef(two.id)).rejects.toMatchObject(CORRUPT);
    damage("UPDATE artifacts SET expires_at = 1 WHERE filename = 'one.txt'");
    await expect(store.artifacts.get(one.id)).rejects.toMatchObject(CORRUPT);
  });
});

it('the checksums of bindings equal those of earlier versions', async () => {
  const session = { routerSessionId: 'session' };
  const ids = { traceId: 'trace', contextId: 'context', agentUrl: 'https://worker.example' };
  await store.agents.saveRemoteBinding({ ...ids, taskId: 'a' });
  await store.agents.saveRemoteBinding({ ...ids, ...session, taskId: 'b' });
  await store.agents.saveRemoteBinding({ ...ids, ...session, taskId: 'c', isTerminal: false });
  await store.agents.saveRemoteBinding({ ...ids, ...session, taskId: 'd', isTerminal: true });
  const rows = store.database.handle.prepare('SELECT sum, about_sum FROM remote_bindings ORDER BY task_id').all();
  expect(rows.map(({ sum, about_sum: about }) => [sum, about])).toEqual([
    [-1111249960, -1532193234],
    [-2010243701, -1815084432],
    [765824389, -965266385],
    [-470453971, -1410011935],
  ]);
});
