/** Leftovers of writers that were killed between the records of a trajectory: they belong to no session. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Records } from '../../engine/records.ts';
import { memoryRecords } from '../../memory/records.ts';
import { Contention } from '../../tools/contention.ts';
import { StoreContext } from '../../tools/context.ts';
import { joinKey } from '../../tools/joined-keys.ts';
import { fieldsOf } from '../../tools/record-fields.ts';
import { SessionBook } from './session-book.ts';
import { type KeyedTrajectories, keyedTrajectories } from './trajectories.ts';

const CALL = {};
const TENANT = 't';

let records: Records;
let trajectories: KeyedTrajectories;

beforeEach(async () => {
  const context = new StoreContext();
  const contention = new Contention(context);
  records = memoryRecords(context);
  trajectories = keyedTrajectories(records, contention, new SessionBook(records, contention));
  for (const traceId of ['theirs', 'also-theirs'])
    await trajectories.save(TENANT, { traceId, sessionId: 'other', body: '{}' }, CALL);
});

/** Writes the body and the list entry of a trajectory without its owner. */
async function leave(sessionId: string, traceId: string): Promise<void> {
  for (const [kind, set] of [
    ['body', fieldsOf({ body: '{"left":1}' })],
    ['list', fieldsOf({ recency: 1 })],
  ] as const) {
    const name = { space: 'trajectories', tenantId: TENANT, key: joinKey([kind, sessionId, traceId]) } as const;
    await records.write({ name, mode: 'replace', set }, CALL);
  }
}

const keys = async () =>
  (await records.scan('trajectories', TENANT, { prefix: '', after: null, limit: 100 }, CALL)).map(({ key }) => key);

describe.each([
  ['that belongs to another session', 'theirs'],
  ['that nobody owns', 'lost'],
])('the leftovers of a trace %s', (_, traceId) => {
  it('are neither read nor listed', async () => {
    await leave('mine', traceId);
    expect(await trajectories.get(TENANT, traceId, 'mine', CALL)).toBeNull();
    expect(await trajectories.list(TENANT, 'mine', 10, CALL)).toEqual([]);
  });

  it('are removed with their session, without removing the trace itself', async () => {
    const before = await keys();
    await leave('mine', traceId);
    const removed: string[] = [];
    const count = await trajectories.removeAll(TENANT, 'mine', async (id) => void removed.push(id), CALL);
    expect([count, removed]).toEqual([0, []]);
    expect(await keys()).toEqual(before);
    expect(await trajectories.get(TENANT, 'theirs', 'other', CALL)).toBe('{}');
  });
});

it('removes the trajectories of a session, each after its events', async () => {
  await trajectories.save(TENANT, { traceId: 'own', sessionId: 'mine', body: '{}' }, CALL);
  const before: string[] = [];
  const remove = () => trajectories.removeAll(TENANT, 'mine', async (id) => void before.push(id), CALL);
  expect([await remove(), before]).toEqual([1, ['own']]);
  expect(await trajectories.list(TENANT, 'other', 1, CALL)).toEqual(['also-theirs']);
  expect(await trajectories.list(TENANT, 'other', 2, CALL)).toEqual(['also-theirs', 'theirs']);
});
