/**
 * Repeated copies (COPY-1): data that ended in the source ends in the target, and a mirror removes only what a copy
 * wrote.
 */
import { memoryKey, mintPauseToken, type Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { copyStore } from '../src/index.ts';
import { contentsOf } from './copied.ts';
import { ENGINES } from './engines.ts';
import { memory, openStore } from './stores.ts';

const AT = '2026-02-16T09:30:00.000Z';
const SLOW = { timeout: 120_000 };

interface Filled {
  token: string;
  artifactId: string;
}

/** Adds one removable item of every kind. */
async function fill(store: Store, name: string): Promise<Filled> {
  const { runs, kv, agents, artifacts } = store;
  const token = mintPauseToken();
  await runs.handle(`run ${name}`).append('RunStarted', { name });
  await kv.put(`key ${name}`, { name });
  await agents.saveMemoryState(`memory ${name}`, { name });
  await agents.savePlannerState(token, { name }, { ttl: '1h' });
  const { id } = await artifacts.putText(`text ${name}`, { ttl: null });
  await fillSession(store, `session ${name}`);
  return { token, artifactId: id };
}

async function fillSession({ agents, artifacts }: Store, sessionId: string, text = 'before'): Promise<void> {
  const about = { sessionId, taskId: 'task', createdAt: AT };
  const update = { ...about, updateType: 'PROGRESS', content: { text } } as const;
  await agents.saveUpdate({ ...update, updateId: text });
  await agents.saveTrajectory(`trace of ${sessionId}`, sessionId, { text });
  await agents.saveEvent({
    ...{ traceId: `trace of ${sessionId}`, ts: 1, kind: 'node', nodeName: null, nodeId: null, payload: { text } },
  });
  await agents.saveMemoryState(memoryKey('t', 'u', sessionId), { text });
  await agents.savePlannerState(`token of ${sessionId} ${text}`, { text }, { ttl: '1h', sessionId });
  await artifacts.putText(`${text} in ${sessionId}`, { scope: { sessionId }, ttl: null });
}

async function twoStores(engine: string): Promise<[Store, Store]> {
  return [memory(), await openStore(engine)];
}

const AVAILABLE: readonly string[] = ['sqlite', ...neededServers()];

describe.for(['memory', ...Object.keys(ENGINES).filter((it) => AVAILABLE.includes(it))])(
  'a second copy into %s',
  (engine) => {
    it('ends items that ended in the source, without a mirror', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      const { token } = await fill(from, 'a');
      await from.runs.handle('never copied').append('RunStarted');
      await from.runs.deleteRun('never copied');
      expect(await copyStore(from, to)).toMatchObject({ complete: true, differences: [] });
      await from.runs.deleteRun('run a');
      expect(await from.agents.loadPlannerState(token)).toEqual({ name: 'a' });
      await from.admin.eraseSession('session a');
      const report = await copyStore(from, to);
      expect(report).toMatchObject({ complete: true, differences: [], problems: [] });
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
      expect(await to.agents.loadPlannerState(token), 'the pause does not resume again').toEqual({});
      for (const runId of ['run a', 'never copied'])
        await expect(to.runs.handle(runId).append('RunStarted')).rejects.toMatchObject({ code: 'RUN_DELETED' });
      expect((await to.agents.listSessions()).items).toEqual([]);
      expect((await to.artifacts.list({ sessionId: 'session a' })).items).toEqual([]);
      expect(await to.agents.loadMemoryState(memoryKey('t', 'u', 'session a'))).toBe(null);
      expect(await to.agents.loadPlannerState('token of session a before')).toEqual({});
    });

    it('is not complete while the target has extra items, and removes nothing', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      const { artifactId } = await fill(from, 'a');
      await copyStore(from, to);
      const before = await contentsOf(to);
      await from.kv.delete('key a');
      await from.agents.deleteMemoryState('memory a');
      await from.artifacts.delete(artifactId);
      await from.agents.deleteSession('session a');
      const { complete, differences } = await copyStore(from, to);
      expect(complete).toBe(false);
      expect(differences.map(({ part, id }) => `${part} ${id}`)).toEqual(
        expect.arrayContaining(['kv key a', 'memory memory a', `artifacts ${artifactId}`, 'tasks session a']),
      );
      expect(await contentsOf(to)).toEqual(before);
    });

    it('with a mirror removes items that an earlier copy wrote', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      const { artifactId } = await fill(from, 'a');
      await fill(from, 'b');
      await copyStore(from, to);
      await from.kv.delete('key a');
      await from.agents.deleteMemoryState('memory a');
      await from.artifacts.delete(artifactId);
      await from.agents.deleteSession('session b');
      const report = await copyStore(from, to, { mirror: true });
      expect(report.parts).toMatchObject({ kv: { removed: 1 }, memory: { removed: 1 }, artifacts: { removed: 1 } });
      expect(report.differences).toEqual([]);
      expect(report.complete).toBe(true);
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
    });

    it('with a mirror keeps items the target already had, and items changed there', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      await to.kv.put('of the target', { n: 1 });
      await to.agents.saveMemoryState('of the target', { n: 1 });
      await to.runs.handle('of the target').append('RunStarted');
      await to.artifacts.putText('of the target', { ttl: null });
      // Equal on both sides, so the copy writes nothing.
      for (const { kv } of [from, to]) await kv.put('of both', { n: 1 });
      await fill(from, 'a');
      await copyStore(from, to);
      await to.kv.put('key a', { changed: 'there' });
      await to.agents.saveMemoryState('memory a', { changed: 'there' });
      await to.runs.handle('run a').append('Progress', { changed: 'there' });
      await from.kv.delete('key a');
      await from.kv.delete('of both');
      await from.agents.deleteMemoryState('memory a');
      await from.runs.deleteRun('run a');
      const before = await contentsOf(to);
      const { complete, differences } = await copyStore(from, to, { mirror: true });
      expect(complete).toBe(false);
      expect(differences.map(({ part, id }) => `${part} ${id}`).sort()).toEqual([
        expect.stringMatching(/^artifacts art_/),
        ...['kv key a', 'kv of both', 'kv of the target', 'memory memory a', 'memory of the target'],
        ...['runs of the target', 'runs run a'],
      ]);
      expect(await contentsOf(to)).toEqual(before);
    });

    it('erases and copies a session that was erased and restarted', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      await fillSession(from, 's', 'old');
      await copyStore(from, to);
      await from.admin.eraseSession('s');
      await fillSession(from, 's', 'new');
      expect(await copyStore(from, to)).toMatchObject({ complete: true, differences: [] });
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
      expect(await copyStore(from, to), 'and once only').toMatchObject({ complete: true, differences: [] });
      expect((await to.agents.listUpdates('s')).map(({ updateId }) => updateId)).toEqual(['new']);
    });

    it('keeps the time of a redaction', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      for (const type of ['RunStarted', 'Progress']) await from.runs.handle('run').append(type, { secret: type });
      await copyStore(from, to);
      await from.runs.redactEvent('run', 1, { by: 'ada', reason: 'a name' });
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(await copyStore(from, to)).toMatchObject({ complete: true, differences: [] });
      expect(await to.runs.fetchEvents('run')).toEqual(await from.runs.fetchEvents('run'));
    });

    it('keeps an archived run, and archives it too with a mirror', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      for (const runId of ['kept', 'archived']) await from.runs.handle(runId).append('RunCompleted');
      await copyStore(from, to);
      await from.runs.archiveRun('archived', { location: 'file:archive', expectedSeq: 1 });
      expect(await copyStore(from, to)).toMatchObject({ complete: false, differences: [{ id: 'archived' }] });
      expect(await to.runs.headSeq('archived')).toBe(1);
      expect(await copyStore(from, to, { mirror: true })).toMatchObject({ complete: true, differences: [] });
      expect(await to.runs.archiveLocation('archived')).toBe('file:archive');
    });

    it('with a mirror erases a tenant that was erased in the source', SLOW, async () => {
      const [from, to] = await twoStores(engine);
      for (const tenantId of ['acme', 'other']) await fill(from.forTenant(tenantId), tenantId);
      await copyStore(from, to);
      await from.admin.eraseTenant('acme');
      const { complete, differences } = await copyStore(from, to);
      expect([complete, new Set(differences.map(({ tenantId }) => tenantId))]).toEqual([false, new Set(['acme'])]);
      expect(await copyStore(from, to, { mirror: true })).toMatchObject({ complete: true, differences: [] });
      expect((await to.admin.listTenants()).items).toEqual(['other']);
    });
  },
);

it('a mirror requires kv in the target', async () => {
  const [from, to] = [memory(), memory()];
  const lacking = new Proxy(to, {
    get: (target, name) =>
      name === 'info'
        ? { ...target.info, capabilities: { ...target.info.capabilities, kv: false } }
        : Reflect.get(target, name, target),
  });
  await expect(copyStore(from, lacking, { mirror: true, parts: ['runs'] })).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    field: 'mirror',
  });
});
