/** Encryption at rest: no file of a store contains readable text of an encoded payload. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { composeCodecs, compression, defineProjection, encryption, type PayloadCodec } from '@tidemark/core';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteStore } from '../src/store.ts';

const SECRET = 'correct horse battery staple';
const LARGE = `${SECRET} `.repeat(40_000);
const TIME = '2026-02-16T09:30:00.000Z';

const directory = mkdtempSync(join(tmpdir(), 'tidemark-encryption-'));
afterAll(() => rmSync(directory, { recursive: true }));

const said = defineProjection({
  name: 'said',
  version: 1,
  initial: { words: '' },
  on: {
    Said(state, event) {
      state.words = String(event.payload?.words);
    },
  },
});

/** Writes the secret everywhere a payload can go, and closes the store. */
async function writeEverywhere(path: string, codec?: PayloadCodec): Promise<void> {
  const store = await sqliteStore({ path, ...(codec && { codec }) });
  const run = store.runs.handle('run', { tenantId: 'acme' });
  await run.append('RunStarted');
  await run.append('Said', { words: SECRET });
  await run.append('RunFailed', { errorMessage: SECRET });
  await store.runs.refreshSnapshot('run');
  await said.refresh(store, 'run');
  const { agents, artifacts } = store.forTenant('acme');
  const body = { words: SECRET };
  const session = { sessionId: 'session', taskId: 'task', createdAt: TIME };
  await agents.saveEvent({ traceId: 'trace', ts: 1, kind: 'node_start', nodeName: null, nodeId: null, payload: body });
  await agents.savePlannerEvent('trace', { eventType: 'thought', ts: 1, trajectoryStep: 1, thought: SECRET });
  await agents.savePlannerState('token', { reason: SECRET });
  await agents.saveMemoryState('key', body);
  await agents.saveTask({
    ...session,
    status: 'RUNNING',
    taskType: 'FOREGROUND',
    priority: 0,
    contextSnapshot: body,
    updatedAt: TIME,
  });
  await agents.saveUpdate({ ...session, updateId: 'update', updateType: 'RESULT', content: SECRET });
  await agents.saveSteering({ ...session, eventId: 'event', eventType: 'USER_MESSAGE', payload: body });
  await agents.saveTrajectory('trace', 'session', body);
  await artifacts.putText(SECRET, { source: body });
  await artifacts.putText(LARGE);
  await store.close();
}

/** Counts the secret in the files of a folder. */
function occurrencesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
  return texts.reduce((count, text) => count + text.split(SECRET).length - 1, 0);
}

describe('a store with encryption', () => {
  it('leaves no readable text in its files, while a store without it does', async () => {
    const keys = { '2026': randomBytes(32) };
    const codec = composeCodecs(compression(), encryption({ keys, current: '2026' }));
    const [plain, encrypted] = [join(directory, 'plain'), join(directory, 'encrypted')];
    await writeEverywhere(join(plain, 'state.db'));
    await writeEverywhere(join(encrypted, 'state.db'), codec);
    expect(occurrencesIn(plain)).toBeGreaterThan(40_000);
    expect(occurrencesIn(encrypted)).toBe(0);
    await using store = await sqliteStore({ path: join(encrypted, 'state.db'), codec });
    expect((await said.get(store, 'run'))?.state).toEqual({ words: SECRET });
    expect(await store.runs.verify('run')).toMatchObject({ ok: true, events: 3 });
  });
});
