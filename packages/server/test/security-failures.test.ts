/** Failures of the store: callers get a fixed sentence and their request id, and the log has the details. */
import { DatabaseSync } from 'node:sqlite';
import { type ErrorCode, TidemarkError } from '@tidemark/core';
import { InterceptedStore } from '@tidemark/core/engine';
import { sqliteStore } from '@tidemark/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newFolder, runEvent, send } from './running.ts';
import { startSecured } from './security-setup.ts';

/** Text that no caller may see. */
const INSIDE = '/srv/private/app.db: relation "tidemark"."events" at 10.0.0.7:5432';

const CODES: ErrorCode[] = [
  'STORAGE_ERROR',
  'STORAGE_FULL',
  'CODEC_FAILED',
  'SCHEMA_MISMATCH',
  'DRIVER_MISSING',
  'DURABILITY_TOO_WEAK',
  'PROJECTION_FAILED',
  'CORRUPT_EVENT',
  'UNAVAILABLE',
  'OVERLOADED',
  'TIMEOUT',
  'ABORTED',
  'OUTCOME_UNKNOWN',
];

/** A store whose run calls all fail in the same way. */
async function failing(error: () => Error): Promise<InterceptedStore> {
  const store = await sqliteStore(`${newFolder()}/store.db`);
  onTestFinished(() => store.close());
  const fail = async () => {
    throw error();
  };
  return new InterceptedStore(store, {
    call: (call, proceed) => (call.domain === 'runs' ? fail() : proceed()),
    iterate: (call, proceed) => (call.domain === 'runs' ? failingItems(fail) : proceed()),
  });
}

async function* failingItems(fail: () => Promise<never>): AsyncGenerator<never> {
  yield await fail();
}

describe('a failure of the store', () => {
  it.for([...CODES, 'unforeseen'])('as %s is reported without internal details', async (code) => {
    const cause = new Error(INSIDE);
    const error = () => (code === 'unforeseen' ? cause : new TidemarkError(code as ErrorCode, INSIDE, { cause }));
    const { url, keyFor, logged } = await startSecured({ store: await failing(error) });
    const headers = await keyFor();
    const lines = { 'content-type': 'application/x-ndjson' };
    const answers = [
      await fetch(`${url}/v1/runs/r/events`, { headers }),
      await fetch(`${url}/v1/runs`, { headers }),
      await fetch(`${url}/v1/runs/r/events`, { headers: { ...headers, accept: 'application/x-ndjson' } }),
      await fetch(`${url}/v1/runs/r/events`, { headers: { ...headers, accept: 'text/event-stream' } }),
      await send(`${url}/v1/events`, 'POST', runEvent('r'), headers),
      await send(`${url}/v1/events`, 'POST', `${JSON.stringify(runEvent('r'))}\n`.repeat(50), { ...headers, ...lines }),
    ];
    for (const answer of answers) {
      const text = await answer.text();
      expect(text).not.toContain('/srv/');
      expect(text).not.toContain('relation');
      expect(text).not.toContain('10.0.0.7');
      const requestId = /"requestId":"([0-9a-f-]{36})"/.exec(text)?.[1];
      expect(requestId, text).toBeDefined();
      const entries = logged.filter((entry) => (entry as { requestId?: string }).requestId === requestId);
      expect(entries, 'logged once for each request').toHaveLength(1);
      expect(String((entries[0] as { error: Error }).error)).toContain(INSIDE);
    }
  });

  it('caused by a rejection keeps its message', async () => {
    const cause = new TidemarkError('RUN_DELETED', 'Run "r" was deleted', { runId: 'r' });
    const error = () => new TidemarkError('OUTCOME_UNKNOWN', 'One was refused: Run "r" was deleted', { cause });
    const { url, keyFor, logged } = await startSecured({ store: await failing(error) });
    const answer = await send(`${url}/v1/events`, 'POST', runEvent('r'), await keyFor());
    expect(await answer.json()).toMatchObject({ status: 409, detail: 'One was refused: Run "r" was deleted' });
    expect(logged).toEqual([]);
  });

  it('of SQLite shows neither the file nor the database message', async () => {
    const { url, keyFor, path, logged } = await startSecured();
    const headers = await keyFor();
    const beside = new DatabaseSync(path);
    for (const { name } of beside.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all())
      if (String(name).includes('memor')) beside.exec(`DROP TABLE ${name}`);
    beside.close();
    const answer = await fetch(`${url}/v1/memory/some?tenant=acme`, { headers });
    const text = await answer.text();
    expect(answer.status, text).toBe(500);
    expect(text).not.toContain(path);
    expect(text).not.toContain('no such table');
    expect(JSON.stringify(logged, (_, value) => (value instanceof Error ? value.message : value))).toContain(path);
  });

  it('that persists does not fill the log', async () => {
    const { url, keyFor, logged } = await startSecured({
      store: await failing(() => new TidemarkError('UNAVAILABLE', 'down', { cause: new Error('down') })),
    });
    const headers = await keyFor();
    for (let n = 0; n < 20; n++)
      await Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/v1/runs`, { headers })));
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.length, 'of 1 000 failures').toBeLessThan(900);
  });
});

describe('the doctor', () => {
  it('shows files and settings of the machine to operators only', async () => {
    const { url, keyFor, path } = await startSecured();
    const answer = await fetch(`${url}/v1/doctor`, { headers: await keyFor({ tenantId: 'acme' }) });
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain(path);
    expect((await fetch(`${url}/v1/doctor`, { headers: await keyFor() })).status).toBe(200);
  });
});
