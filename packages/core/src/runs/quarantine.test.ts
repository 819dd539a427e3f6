/** A damaged run is quarantined while all others continue, and a release makes the feed yield its events (RUN-20). */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encryption } from '../codec/encryption.ts';
import { formatEnvelope, parseEnvelope } from '../codec/envelope.ts';
import type { StoreAlert } from '../contracts/alerts.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { FeedItem, FeedOptions } from '../contracts/runs.ts';
import type { StoreOptions } from '../contracts/store.ts';
import type { Journal, JournalEntry, JournalName } from '../engine/journal.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { Runs } from './store.ts';

type Damage = (body: string) => string;

/** Returns a store whose journal returns damaged bodies and heads, like a damaged disk. */
function setUp(options: StoreOptions = {}) {
  const alerts: StoreAlert[] = [];
  const context = new StoreContext({ ...options, onAlert: (alert) => alerts.push(alert) });
  const journal: Journal = memoryJournal(context);
  const bodies = new Map<string, Damage>();
  const heads = new Set<string>();
  const seen = (name: JournalName, entry: JournalEntry): JournalEntry => {
    const damage = bodies.get(`${name.name} ${entry.seq}`);
    return damage ? { ...entry, body: damage(entry.body) } : entry;
  };
  const damaged: Partial<Journal> = {
    read: async (name, ...rest) => (await journal.read(name, ...rest)).map((entry) => seen(name, entry)),
    feed: async (...args) =>
      (await journal.feed(...args)).map((it) => (it.entry ? { ...it, entry: seen(it.name, it.entry) } : it)),
    list: async (...args) =>
      (await journal.list(...args)).map((it) =>
        heads.has(it.name.name) ? { ...it, head: { ...it.head, state: '{' } } : it,
      ),
  };
  const engine = new KeyedRuns(
    new Proxy(journal, {
      get: (target, key) =>
        damaged[key as keyof Journal] ?? (Reflect.get(target, key, target) as () => void).bind(target),
    }) as Journal,
    memoryRecords(context),
  );
  const damage = (runId: string, seq: number, how: Damage) => bodies.set(`${runId} ${seq}`, how);
  const repair = (runId: string, seq: number) => bodies.delete(`${runId} ${seq}`);
  const viewOf = (tenantId: string) => new Runs(context, engine, { tenantId });
  return { runs: new Runs(context, engine, null), viewOf, damage, repair, heads, alerts };
}

function event(runId: string, n: number, tenantId = 't'): RunEventInput {
  return {
    ...{ eventId: crypto.randomUUID(), eventType: 'Progress', emittedAt: '2026-02-16T09:30:00.000Z' },
    ...{ runId, tenantId, projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1, payload: { n } },
  };
}

/** Appends events alternately to two runs of two tenants. */
async function fill(runs: Runs, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) {
    await runs.appendEvent(event('sick', n, 't'));
    await runs.appendEvent(event('well', n, 'other'));
  }
}

async function readAll(runs: Runs, options: FeedOptions & { limit?: number } = {}) {
  const items: FeedItem[] = [];
  const held: { runId: string; runSeq: number }[] = [];
  let after = options.cursor;
  for (;;) {
    const page = await runs.feedPage({ ...options, ...(after === undefined ? {} : { cursor: after }) });
    items.push(...page.items);
    held.push(...(page.held ?? []));
    if (page.next === undefined || page.next === after) return { items, held, next: after };
    after = page.next;
  }
}

function seqsOf(items: readonly FeedItem[], runId: string): number[] {
  return items.filter((item) => item.event.runId === runId).map(({ event: { runSeq } }) => runSeq);
}

const flip: Damage = (body) => body.replace('"n":3', '"n":4');
const cut: Damage = (body) => body.slice(0, 20);
const link: Damage = (body) => body.replace(/"[\w+/]{43}="/, `"${Buffer.alloc(32).toString('base64')}"`);

describe('a damaged run', () => {
  it.each([
    ['a payload', flip],
    ['a link', link],
    ['a stored form', cut],
    ['a stored form that is another list', () => '[]'],
    ['a stored form that is a list of texts', () => '["1","2"]'],
    ['a stored form that is a list of numbers', () => '[1,2,3,4,5,6,7,8,9,10]'],
    ['a stored form that is no list', () => '{"0":1,"length":9}'],
    ['a stored form that is empty', () => 'null'],
  ])('is skipped from damage to %s onwards, while other runs continue', async (_, how) => {
    const { runs, viewOf, damage, alerts } = setUp();
    await fill(runs, 1, 5);
    damage('sick', 3, how);
    const { items, held } = await readAll(runs, { limit: 4 });
    expect(seqsOf(items, 'well')).toEqual([1, 2, 3, 4, 5]);
    expect(seqsOf(items, 'sick')).toEqual([1, 2]);
    expect(held[0]).toMatchObject({ tenantId: 't', runId: 'sick', runSeq: 3 });
    expect(alerts).toEqual([
      { code: 'RUN_QUARANTINED', severity: 'P2', tenantId: 't', runId: 'sick', fromSeq: 3, reason: expect.any(String) },
    ]);
    expect((await runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 3, state: 'quarantined' }]);
    expect((await viewOf('other').listQuarantined()).items).toEqual([]);
    expect((await readAll(viewOf('other'))).held).toEqual([]);
    await expect(runs.fetchEvents('sick')).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 3 });
    expect(await runs.fetchEvents('sick', { limit: 2 })).toHaveLength(2);
  });

  it('is read in order after its release, from the first skipped event, with later appends', async () => {
    const { runs, damage, repair } = setUp();
    await fill(runs, 1, 5);
    damage('sick', 3, flip);
    const { next } = await readAll(runs);
    await fill(runs, 6, 8);
    await expect(runs.releaseRun('sick')).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 3 });
    repair('sick', 3);
    expect(await runs.releaseRun('sick')).toMatchObject({ state: 'released', release: 2 });
    expect(await runs.releaseRun('sick')).toMatchObject({ state: 'released', release: 2 });
    const { items } = await readAll(runs, { cursor: next!, limit: 2 });
    const released = items.filter((item) => item.released);
    expect(seqsOf(released, 'sick')).toEqual([3, 4, 5, 6, 7, 8]);
    expect(seqsOf(released, 'well')).toEqual([]);
    expect(seqsOf(items, 'well')).toEqual([6, 7, 8]);
  });

  it('can be read from the cursor of any released item, and is released once', async () => {
    const { runs, damage, repair } = setUp();
    await fill(runs, 1, 5);
    damage('sick', 3, flip);
    const { next } = await readAll(runs);
    repair('sick', 3);
    await runs.releaseRun('sick');
    const whole = await readAll(runs, { cursor: next! });
    expect(whole.items.map(({ event: { runSeq } }) => runSeq)).toEqual([3, 4, 5]);
    for (const [at, { cursor }] of whole.items.entries())
      expect((await readAll(runs, { cursor: cursor })).items).toEqual(whole.items.slice(at + 1));
    expect((await readAll(runs, { cursor: whole.next! })).items).toEqual([]);
  });

  it('is in feed order for readers that start from the beginning after the release', async () => {
    const { runs, damage, repair } = setUp();
    await fill(runs, 1, 4);
    damage('sick', 2, cut);
    await readAll(runs);
    repair('sick', 2);
    await runs.releaseRun('sick');
    const { items } = await readAll(runs, { limit: 3 });
    expect(seqsOf(items, 'sick')).toEqual([1, 2, 3, 4]);
    expect(items.some((item) => item.released)).toBe(false);
  });

  it('keeps the lowest sequence when it is quarantined again', async () => {
    const { runs, damage, repair, alerts } = setUp();
    await fill(runs, 1, 4);
    damage('sick', 3, flip);
    const { next } = await readAll(runs);
    repair('sick', 3);
    await runs.releaseRun('sick');
    await fill(runs, 5, 6);
    damage('sick', 5, cut);
    const second = await readAll(runs, { cursor: next! });
    expect(seqsOf(second.items, 'sick')).toEqual([]);
    expect((await runs.listQuarantined()).items).toMatchObject([{ fromSeq: 3, release: 0 }]);
    expect(alerts).toHaveLength(2);
    repair('sick', 5);
    expect(await runs.releaseRun('sick')).toMatchObject({ release: 4 });
    const third = await readAll(runs, { cursor: second.next! });
    expect(seqsOf(third.items, 'sick')).toEqual([3, 4, 5, 6]);
  });

  it('gets one entry, with the lowest sequence, when several readers find the damage', async () => {
    const { runs, damage, alerts } = setUp();
    await fill(runs, 1, 6);
    damage('sick', 5, flip);
    damage('sick', 5, cut);
    await Promise.all([readAll(runs), readAll(runs), runs.verify('sick'), runs.verify('sick')]);
    damage('sick', 2, cut);
    await expect(runs.projectSnapshot('sick')).rejects.toMatchObject({ code: 'CORRUPT_EVENT' });
    expect((await runs.listQuarantined()).items).toMatchObject([{ fromSeq: 2 }]);
    expect(alerts).toHaveLength(1);
  });

  it('is quarantined by verify, which reports the same problem', async () => {
    const { runs, damage, alerts } = setUp();
    await fill(runs, 1, 4);
    expect(await runs.verify('sick')).toMatchObject({ ok: true });
    expect((await runs.listQuarantined()).items).toEqual([]);
    const { head } = await runs.verify('sick');
    expect(head).toMatch(/^[0-9a-f]{64}$/);
    // Neither can be verified further, and both name the head that is stored.
    for (const how of [flip, cut]) {
      damage('sick', 3, how);
      expect(await runs.verify('sick')).toMatchObject({ ok: false, head, events: 2, problem: { runSeq: 3 } });
    }
    expect((await runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 3, state: 'quarantined' }]);
    expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 3 }]);
    expect((await readAll(runs)).held).toMatchObject([{ runId: 'sick', runSeq: 3 }]);
  });

  it('stays quarantined when a release cannot read it, which is not damage', async () => {
    const { runs, damage } = setUp();
    await fill(runs, 1, 4);
    damage('sick', 3, flip);
    await readAll(runs);
    damage('sick', 3, () => {
      throw new TidemarkError('UNAVAILABLE', 'not now');
    });
    await expect(runs.releaseRun('sick')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect((await runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 3, state: 'quarantined' }]);
  });

  it('is removed from the quarantine when it is deleted', async () => {
    const { runs, damage } = setUp();
    await fill(runs, 1, 4);
    damage('sick', 3, flip);
    await readAll(runs);
    expect(await runs.deleteRun('sick')).toBe(true);
    expect((await runs.listQuarantined({ state: 'any' })).items).toEqual([]);
  });

  it('is listed in pages, and a full last page has no next one', async () => {
    const { runs, damage } = setUp();
    for (const runId of ['a', 'b', 'c']) {
      await runs.appendEvent(event(runId, 1));
      damage(runId, 1, cut);
    }
    await readAll(runs);
    const idsOf = (items: readonly { runId: string }[]) => items.map(({ runId }) => runId);
    const first = await runs.listQuarantined({ limit: 2 });
    expect([idsOf(first.items), typeof first.next]).toEqual([['a', 'b'], 'string']);
    const last = await runs.listQuarantined({ limit: 2, cursor: first.next! });
    expect([idsOf(last.items), last.next]).toEqual([['c'], undefined]);
    expect((await runs.listQuarantined({ limit: 3 })).next).toBeUndefined();
    expect(idsOf((await runs.listQuarantined({ state: 'any' })).items)).toEqual(['a', 'b', 'c']);
    expect((await runs.listQuarantined({ state: 'released' })).items).toEqual([]);
  });

  it('is omitted from lists and quarantined if its head is damaged', async () => {
    const { runs, heads } = setUp();
    await fill(runs, 1, 2);
    heads.add('sick');
    expect((await runs.listRuns()).items.map(({ runId }) => runId)).toEqual(['well']);
    expect((await runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 3 }]);
  });
});

describe('a payload that cannot be decrypted', () => {
  const keys = { k1: randomBytes(32) };

  it('is damage when its key is known', async () => {
    const { runs, damage, alerts } = setUp({ codec: encryption({ keys, current: 'k1' }) });
    await fill(runs, 1, 3);
    damage('sick', 2, (body) => {
      const [envelope, payload] = body.split('\n') as [string, string];
      const encoded = parseEnvelope(payload, { tenantId: 't', kind: 'event', owner: 'sick' });
      encoded.data[0]! ^= 1;
      return `${envelope}\n${formatEnvelope(encoded)}`;
    });
    expect(seqsOf((await readAll(runs)).items, 'sick')).toEqual([1]);
    expect(alerts).toHaveLength(1);
  });

  it('is not damage when its key is missing: the read fails and nothing is quarantined', async () => {
    let ring: { keys: typeof keys; current: string } | null = { keys, current: 'k1' };
    const { runs, alerts } = setUp({ codec: encryption({ keyFor: () => ring }) });
    await fill(runs, 1, 2);
    ring = null;
    await expect(runs.feedPage()).rejects.toMatchObject({ code: 'CODEC_FAILED' });
    expect(alerts).toEqual([]);
    expect((await runs.listQuarantined({ state: 'any' })).items).toEqual([]);
  });
});

describe('cursors of a feed', () => {
  it.each(['q1.', 'q1.e30', `q1.${Buffer.from('[1,""]').toString('base64url')}`, 'q1.W10'])(
    'are rejected when made up: %s',
    async (after) => {
      const { runs } = setUp();
      await fill(runs, 1, 1);
      await expect(runs.feedPage({ cursor: after })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        field: 'cursor',
      });
    },
  );

  it('are the cursors of the engine until a run is released', async () => {
    const { runs, damage } = setUp();
    await fill(runs, 1, 3);
    damage('sick', 2, cut);
    expect((await readAll(runs)).next).not.toMatch(/^q1/);
  });
});
