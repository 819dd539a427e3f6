/** Redaction in the file: the payload is removed from its row, and the trigger allows exactly that change (RUN-15). */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPath, openStore, runEvent } from './fixtures.ts';

const ORDER = { tenantId: 'default', by: 'dpo', reason: 'request 1' };

async function redacted() {
  const path = newPath();
  const store = await openStore(path);
  await store.runs.appendEvents([runEvent('r', '1', { text: 'secret' }), runEvent('r', '2')]);
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  return { store, database };
}

describe('redactEvent', () => {
  it('removes the payload from its row and keeps its hash', async () => {
    const { store, database } = await redacted();
    await store.runs.redactEvent('r', 1, ORDER);
    const row = database.prepare('SELECT payload, redaction FROM run_events WHERE run_seq = 1').get()!;
    expect(row.payload).toBeNull();
    expect(JSON.parse(row.redaction as string)).toMatchObject({ by: 'dpo', reason: 'request 1' });
    expect(JSON.stringify(database.prepare('SELECT * FROM run_snapshots').all())).not.toContain('secret');
    expect(await store.runs.verify('r')).toMatchObject({ ok: true });
  });

  it('is the one change that the triggers allow', async () => {
    const { store, database } = await redacted();
    const redaction = `'{"payloadHash":"","at":1,"by":"b","reason":"r"}'`;
    const changes = [
      'payload = NULL',
      `redaction = ${redaction}`,
      `payload = '{}', redaction = ${redaction}`,
      `payload = NULL, redaction = ${redaction}, link = zeroblob(32)`,
      `payload = NULL, redaction = ${redaction}, run_seq = 9`,
      `payload = NULL, redaction = ${redaction}, step_id = 's'`,
      `payload = NULL, redaction = ${redaction}, extra = '{}'`,
      `payload = NULL, redaction = ${redaction}, position = 99`,
    ];
    for (const change of changes)
      expect(() => database.exec(`UPDATE run_events SET ${change} WHERE run_seq = 1`), change).toThrow('append-only');
    await store.runs.redactEvent('r', 1, ORDER);
    for (const change of [`payload = '{}'`, 'redaction = NULL', `redaction = ${redaction}`])
      expect(() => database.exec(`UPDATE run_events SET ${change} WHERE run_seq = 1`), change).toThrow('append-only');
    expect(() => database.exec('DELETE FROM run_events WHERE run_seq = 1')).toThrow('append-only');
  });
});
