/** Artifacts in SQL beyond the kit: altered bytes, and the leftovers of crashed uploads (AGT-11). */
import { describe, expect, it } from 'vitest';
import { removeLeftUploads, removeUploads } from '../src/artifacts/uploads.ts';
import type { SqlDatabase } from '../src/database.ts';
import { eachTest, type TestFile, type TestStore } from './database.ts';

const MEBIBYTE = 1024 * 1024;

let file: TestFile;
let store: TestStore;

eachTest((opened, onFile) => {
  [file, store] = [opened, onFile];
});

function count(table: string): number {
  return Number(store.database.handle.prepare(`SELECT count(*) AS n FROM ${table}`).get()!.n);
}

/** Flips a bit of a stored chunk. */
function alter(): void {
  const { handle } = store.database;
  const { upload_id, part, bytes } = handle.prepare('SELECT * FROM artifact_chunks ORDER BY part DESC').get()!;
  (bytes as Uint8Array)[100]! ^= 1;
  handle
    .prepare('UPDATE artifact_chunks SET bytes = ? WHERE upload_id = ? AND part = ?')
    .run(bytes!, upload_id!, part!);
}

describe('bytes in tables', () => {
  it('are rejected if a bit was flipped', async () => {
    for (const size of [1_000, MEBIBYTE]) {
      const { id } = await store.artifacts.putBytes(new Uint8Array(size).fill(7));
      alter();
      await expect(store.artifacts.get(id)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    }
  });

  it('of one chunk are repaired by storing them again', async () => {
    const bytes = new Uint8Array(1_000).fill(7);
    const { id } = await store.artifacts.putBytes(bytes);
    alter();
    await store.artifacts.putBytes(bytes);
    expect(await store.artifacts.get(id)).toEqual(bytes);
  });

  it('are stored once, even if they are put several times', async () => {
    const bytes = new Uint8Array(MEBIBYTE).fill(7);
    for (const sessionId of ['one', 'two', 'three']) await store.artifacts.putBytes(bytes, { scope: { sessionId } });
    expect([count('artifacts'), count('artifact_blobs'), count('artifact_chunks')]).toEqual([3, 1, 4]);
    expect(count('artifact_uploads')).toBe(0);
  });

  it('of a failing source are removed at once', async () => {
    async function* breaking() {
      yield new Uint8Array(MEBIBYTE);
      throw new Error('the source broke');
    }
    await expect(store.artifacts.putStream(breaking())).rejects.toThrow('the source broke');
    expect([count('artifact_chunks'), count('artifact_uploads')]).toEqual([0, 0]);
  });

  it('of a crashed upload are swept after the grace period, and not before', async () => {
    const { handle } = store.database;
    handle.prepare("INSERT INTO artifact_uploads VALUES ('default', 'crashed', ?)").run(file.clock());
    handle.prepare("INSERT INTO artifact_chunks VALUES ('default', 'crashed', 0, ?, NULL)").run(new Uint8Array(10));
    await store.artifacts.sweep({ grace: 1_000 });
    expect([count('artifact_chunks'), count('artifact_uploads')]).toEqual([1, 1]);
    file.advance(1_001);
    await store.artifacts.sweep({ grace: 1_000 });
    expect([count('artifact_chunks'), count('artifact_uploads')]).toEqual([0, 0]);
  });

  it('of an upload that a sweep removed as abandoned are never stored in part', async () => {
    async function* stalling() {
      yield new Uint8Array(MEBIBYTE).fill(1);
      file.advance(2_000);
      await store.artifacts.sweep({ grace: 1_000 });
      yield new Uint8Array(MEBIBYTE).fill(2);
    }
    await expect(store.artifacts.putStream(stalling())).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect((await store.artifacts.list()).items).toEqual([]);
    expect([count('artifact_blobs'), count('artifact_chunks'), count('artifact_uploads')]).toEqual([0, 0, 0]);
  });

  it('are removed with their blob, and only if the tenant has no reference to them', async () => {
    const bytes = new Uint8Array(MEBIBYTE).fill(7);
    const mine = await store.forTenant('mine').artifacts.putBytes(bytes);
    const theirs = await store.forTenant('theirs').artifacts.putBytes(bytes, { ttl: 100 });
    file.advance(200);
    expect(await store.artifacts.sweep({ grace: 1 })).toEqual({ references: 1, blobs: 1, bytes: MEBIBYTE });
    expect((await store.forTenant('mine').artifacts.get(mine.id))?.length).toBe(MEBIBYTE);
    expect(await store.forTenant('theirs').artifacts.get(theirs.id)).toBe(null);
    expect([count('artifact_blobs'), count('artifact_chunks')]).toEqual([1, 4]);
  });
});

describe('a removal of uploads that read its list before an upload became a blob', () => {
  /** The database with an outdated answer to every read. */
  function outdated(rows: object[]): SqlDatabase {
    const { database } = store;
    return new Proxy<SqlDatabase>(database, {
      get: (_, name) => {
        if (name === 'read') return async () => rows;
        const member: unknown = Reflect.get(database, name, database);
        return typeof member === 'function' ? member.bind(database) : member;
      },
    });
  }

  it.each([
    ['left behind', (db: SqlDatabase) => removeLeftUploads(db, null, 0, {})],
    ['of an erased tenant', (db: SqlDatabase) => removeUploads(db, 'default', {})],
  ])('leaves its bytes: uploads %s', async (_, remove) => {
    const bytes = new Uint8Array(MEBIBYTE).fill(7);
    const { id } = await store.artifacts.putBytes(bytes);
    const rows = store.database.handle.prepare('SELECT DISTINCT tenant_id, upload_id FROM artifact_chunks').all();
    expect(rows).toHaveLength(1);
    await remove(outdated(rows));
    expect(await store.artifacts.get(id)).toEqual(bytes);
  });
});
