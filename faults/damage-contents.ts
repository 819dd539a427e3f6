/** Sample data of every kind, and every read of it, to compare the results of a damaged copy. */
import type { Store } from '@tidemark/core';

const AT = '2026-02-16T09:30:00.000Z';
const RECORDS = 60;
const RUNS = 4;
const EVENTS = 12;

/** A named read. */
export interface Read {
  name: string;
  run: () => Promise<unknown>;
  /** Set for data that no checksum covers: whether `doctor --deep` must detect a change. */
  uncovered?: 'found' | 'between neighbours' | 'not found';
}

/** Returns a string no part of which occurs elsewhere. */
function textOf(name: string, words: number): string {
  return Array.from({ length: words }, (_, word) => `<${name} ${word}>`).join('');
}

/** Fills a store. A second call with another `round` changes everything that can be changed. */
export async function fill(store: Store, round: number): Promise<void> {
  const { kv, agents, artifacts } = store;
  for (let n = 0; n < RECORDS; n++) {
    const text = textOf(`record ${n} round ${round}`, n % 10 === 0 ? 200 : 4);
    await kv.put(
      `k.${n}`,
      { text, count: n + round, raw: Buffer.from([n, 0, 255]) },
      n % 7 === 0 ? { ttl: '30d' } : {},
    );
  }
  for (let n = 0; n < 20; n++) {
    await agents.saveMemoryState(`m.${n}`, { text: textOf(`memory ${n} round ${round}`, n % 5 === 0 ? 150 : 4) });
    await agents.saveEvent({ ...flowEvent(n, round), eventId: `event-${round}-${n}` });
    const planner = { eventType: 'step', ts: n, trajectoryStep: n, extra: { text: textOf(`planner ${n}`, 5) } };
    await agents.savePlannerEvent('trace', { ...planner, eventId: `planner-${round}-${n}` });
    const log = { sessionId: 's', taskId: 't', createdAt: AT };
    const content = { text: textOf(`update ${n} round ${round}`, 5) };
    await agents.saveUpdate({ ...log, updateId: `u${round}-${n}`, updateType: 'PROGRESS', content });
    await agents.saveSteering({ ...log, eventId: `e${round}-${n}`, eventType: 'USER_MESSAGE', payload: content });
  }
  for (let n = 0; n < 8; n++) {
    const times = { createdAt: AT, updatedAt: AT, priority: n };
    const about = { contextSnapshot: { text: textOf(`task ${n} round ${round}`, 6) } };
    const kind = { status: 'RUNNING', taskType: 'FOREGROUND' } as const;
    await agents.saveTask({ sessionId: 's', taskId: `t${n}`, ...kind, ...times, ...about });
    await agents.saveTrajectory(`trace-${n}`, 's', { text: textOf(`trajectory ${n} round ${round}`, 20) });
    const agentUrl = `https://agents.example/${n}/${round}`;
    const routed = { routerSessionId: 'router', metadata: { text: textOf(`binding ${n}`, 10) } };
    await agents.saveRemoteBinding({ traceId: 'trace', contextId: null, taskId: `t${n}`, agentUrl, ...routed });
    await agents.savePlannerState(
      `token-${n}`,
      { reason: `reason ${n}`, text: textOf(`pause ${n}`, 10) },
      { ttl: '30d' },
    );
  }
  for (const [n, size] of [700, 9_000, 600_000].entries()) {
    const bytes = Buffer.alloc(size, `artifact ${n} round ${round} `);
    await artifacts.putBytes(bytes, { filename: `${n}-${round}.bin`, ttl: null });
  }
  for (let run = 0; run < RUNS; run++) {
    const handle = store.runs.handle(`run-${run}`, { projectId: 'faults', environmentId: 'test' });
    if (round === 0) await handle.append('RunStarted', { text: textOf(`run ${run}`, 3) });
    for (let n = 0; n < EVENTS; n++) await handle.append('Progress', { text: textOf(`run ${run} ${round} ${n}`, 5) });
  }
}

function flowEvent(n: number, round: number) {
  const payload = { text: textOf(`flow ${n} round ${round}`, 5) };
  return { traceId: 'trace', ts: n, kind: 'node_start', nodeName: `node ${n}`, nodeId: `${n}`, payload };
}

/** Returns every read, of single items and of lists. */
export async function readsOf(store: Store): Promise<Read[]> {
  const { kv, agents, artifacts, runs, admin } = store;
  const reads: Read[] = [];
  const add = (name: string, run: () => Promise<unknown>, uncovered?: Read['uncovered']) =>
    reads.push({ name, run, uncovered });
  for (let n = 0; n < RECORDS; n++) {
    add(`kv.get k.${n}`, async () => withoutTtl(await kv.get(`k.${n}`)));
    if (n % 5 === 0) add(`kv.getField k.${n}`, () => kv.getField(`k.${n}`, 'text'));
  }
  add('kv.scan', async () => {
    const found: unknown[] = [];
    for await (const { key, record } of kv.scan('')) found.push([key, withoutTtl(record)]);
    return found;
  });
  for (let n = 0; n < 20; n++) add(`memory m.${n}`, () => agents.getMemoryRecord(`m.${n}`));
  add('memory list', async () => whole(await agents.listMemory({ limit: 1_000 })));
  add('flow events', () => agents.loadHistory('trace'));
  add('planner events', () => agents.listPlannerEvents('trace'));
  add('updates', () => agents.listUpdates('s', { limit: 1_000 }));
  add('steering', () => agents.listSteering('s', { limit: 1_000 }));
  add('tasks', () => agents.listTasks('s'));
  add('trajectories', () => agents.listTraces('s'));
  for (let n = 0; n < 8; n++) {
    add(`trajectory ${n}`, () => agents.getTrajectory(`trace-${n}`, 's'));
    add(`pause ${n}`, () => agents.peekPause(`token-${n}`));
  }
  add('bindings', () => agents.listRemoteBindings('trace'));
  add('bindings of a router', () => agents.listBindings('router'));
  add('pauses', async () => whole(await agents.listPauses({ limit: 1_000 })));
  for (const { pauseId } of (await agents.listPauses({ limit: 1_000 })).items)
    add(`pause ${pauseId.slice(0, 8)}`, () => admin.readPause(pauseId));
  add('artifacts', async () => whole(await artifacts.list({}, { limit: 1_000 })));
  for (const { id } of (await artifacts.list({}, { limit: 1_000 })).items) {
    add(`artifact ${id}`, async () => Buffer.from((await artifacts.get(id)) ?? []).toString('base64'));
  }
  for (let run = 0; run < RUNS; run++) {
    const eventsOf = () => runs.fetchEvents(`run-${run}`, { tenantId: 'default' });
    add(`run-${run}`, async () => (await eventsOf()).map(({ persistedAt: _, ...event }) => event));
    // The chain of format 1 does not cover persistedAt, so a wrong time is only detected if it is out of order.
    const timesOf = async () => (await eventsOf()).map(({ persistedAt }) => persistedAt);
    add(`times of run-${run}`, timesOf, 'between neighbours');
  }
  add('runs', async () => whole(await runs.listRuns({ limit: 1_000, order: 'oldest' })), 'found');
  add('sessions', async () => whole(await agents.listSessions({ limit: 1_000 })), 'not found');
  return reads;
}

/** Returns the items of a page. Throws if the page reports damaged items. */
function whole<T>({ items, damaged }: { items: T[]; damaged?: string[] }): T[] {
  if (damaged)
    throw Object.assign(new Error(`left out: ${damaged.join(', ')}`), { name: 'TidemarkError', code: 'CORRUPT_VALUE' });
  return items;
}

/** The remaining TTL differs between reads, and the order of fields between server starts. */
function withoutTtl(record: { fields: Record<string, Uint8Array>; revision: number } | null): unknown {
  if (!record) return null;
  const fields = Object.entries(record.fields).map(([field, value]) => [field, Buffer.from(value).toString('latin1')]);
  return { fields: fields.sort(([a], [b]) => (a! < b! ? -1 : 1)), revision: record.revision };
}
