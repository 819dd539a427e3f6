/**
 * Two actors on the artifacts of a keyed backend, in every order of their steps with up to three changes between them: one
 * stalls anywhere, the other goes on as far as it likes, the first one carries on. Also with an actor that never carries on.
 */
import { describe, expect, it } from 'vitest';
import { createArtifacts } from '../artifacts/store.ts';
import type { ArtifactStore } from '../contracts/artifacts.ts';
import type { ArtifactEngine } from '../engine/artifacts.ts';
import type { Blobs } from '../engine/blobs.ts';
import type { Records } from '../engine/records.ts';
import { memoryBlobs } from '../memory/blobs.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { keyedArtifacts } from './artifacts.ts';

const CALL = {};
const HOUR = 3_600_000;

/** An actor that waits before every step until it is told to go on. */
class Actor {
  #go: (() => void) | null = null;
  #isDone = false;
  #result: Promise<unknown> = Promise.resolve();
  #failure: unknown;

  readonly step = (): Promise<void> =>
    new Promise((go) => {
      this.#go = go;
    });

  begin(work: () => Promise<unknown>): void {
    this.#result = this.step()
      .then(work)
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.#isDone = true;
      });
  }

  /** Takes up to so many steps; returns how many there were. */
  async take(steps: number): Promise<number> {
    for (let taken = 0; ; taken++) {
      while (!this.#go && !this.#isDone) await new Promise((resolve) => setImmediate(resolve));
      if (this.#isDone || taken === steps) return taken;
      const go = this.#go!;
      this.#go = null;
      go();
    }
  }

  async finish(): Promise<void> {
    await this.take(Number.POSITIVE_INFINITY);
    await this.#result;
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** A port whose calls are steps of an actor, some of them replaced. */
function inSteps<Port extends object>(port: Port, step: Actor['step'], replaced: Partial<Port> = {}): Port {
  return new Proxy(port, {
    get(target, property) {
      if (Object.hasOwn(replaced, property)) return replaced[property as keyof Port];
      const member = Reflect.get(target, property, target) as unknown;
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        await step();
        return member.apply(target, args) as unknown;
      };
    },
  });
}

interface Place {
  time: { now: number };
  /** The artifacts as an actor uses them. */
  open(actor?: Actor): { store: ArtifactStore; engine: ArtifactEngine };
}

/** Empty artifacts, with batches of one step or of one step for each write. */
function newPlace(stepwise: boolean): Place {
  const time = { now: 1_000_000_000_000 };
  const context = new StoreContext({ clock: () => time.now });
  const [records, blobs] = [memoryRecords(context), memoryBlobs(context)];
  return {
    time,
    open(actor) {
      const step = actor?.step ?? (async () => {});
      const ofRecords = inSteps<Records>(records, step);
      const oneByOne: Records['batch'] = async (writes, call) => {
        const outcomes: Awaited<ReturnType<Records['batch']>> = [];
        for (const write of writes) outcomes.push(await ofRecords.write(write, call));
        return outcomes;
      };
      const ofBlobs = inSteps<Blobs>(blobs, step, {
        stage: async (...args) => inSteps(await blobs.stage(...args), step),
      });
      const stepRecords = stepwise ? inSteps<Records>(records, step, { batch: oneByOne }) : ofRecords;
      const engine = keyedArtifacts(context, stepRecords, ofBlobs, { stepwise });
      return { store: createArtifacts(context, engine, 'default', false), engine };
    },
  };
}

type Plan = readonly [first: number, second: number, third: number];

/** Plays two actors in every order with three changes; `check` is called after each. */
async function everyOrder(
  stepwise: boolean,
  prepare: (place: Place) => Promise<void>,
  actors: readonly ((own: { store: ArtifactStore; engine: ArtifactEngine }) => Promise<unknown>)[],
  check: (place: Place, plan: string) => Promise<void>,
  killed = false,
): Promise<number> {
  const play = async ([first, second, third]: Plan) => {
    const place = newPlace(stepwise);
    await prepare(place);
    const [a, b] = [new Actor(), new Actor()];
    a.begin(() => actors[0]!(place.open(a)));
    b.begin(() => actors[1]!(place.open(b)));
    const taken = [await a.take(first), await b.take(second), await a.take(third)] as const;
    if (!killed) await a.finish();
    await b.finish();
    await check(place, `after ${taken.join(', ')} steps`);
    return taken;
  };
  const most = (await play([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0])) as Plan;
  let played = 1;
  for (let first = 0; first <= most[0]; first++)
    for (let second = 0; second <= most[1]; second++)
      for (let third = 0; third <= most[0] - first; third++, played++) {
        const taken = await play([first, second, third]);
        if (taken[1] < second) break;
      }
  return played;
}

const BYTES = Buffer.from('the same bytes in all sessions');
const inSession = (sessionId: string) => ({ scope: { sessionId, traceId: 'trace' }, ttl: null });

/** Every reference is readable and listed, and there are as many as expected. */
async function expectWhole(
  place: Place,
  plan: string,
  counts: { [session: string]: readonly number[] },
): Promise<void> {
  const { store } = place.open();
  const all = (await store.list()).items;
  for (const { id } of all) expect(Buffer.from((await store.get(id))!).equals(BYTES), plan).toBe(true);
  expect((await store.list({ traceId: 'trace' })).items, plan).toEqual(all);
  for (const [sessionId, allowed] of Object.entries(counts)) {
    const own = all.filter(({ scope }) => scope.sessionId === sessionId);
    expect((await store.list({ sessionId })).items, plan).toEqual(own);
    expect(allowed, `${plan}: artifacts of ${sessionId}`).toContain(own.length);
  }
}

/** Bytes are stored as long as a reference names them, and not for longer. */
async function expectBytes(place: Place, plan: string, blobs: number): Promise<void> {
  place.time.now += 10;
  const { store } = place.open();
  for (const { id } of (await store.list()).items) await store.delete(id);
  expect((await store.sweep({ grace: 1 })).blobs, plan).toBe(blobs);
}

describe.for([
  ['one step', false],
  ['one step for each write', true],
] as const)('batches of %s', ([, stepwise]) => {
  const LIMIT = { timeout: 120_000 };

  it('an erasure never takes the bytes of a put, nor leaves its own', LIMIT, async () => {
    const played = await everyOrder(
      stepwise,
      async (place) => void (await place.open().store.putBytes(BYTES, inSession('A'))),
      [
        ({ store }) => store.putBytes(BYTES, inSession('B')),
        ({ engine }) => engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL),
      ],
      async (place, plan) => {
        await expectWhole(place, plan, { A: [0], B: [1] });
        await expectBytes(place, plan, 1);
      },
    );
    expect(played).toBeGreaterThan(300);
  });

  it('the same when the erasure stalls instead', LIMIT, async () => {
    await everyOrder(
      stepwise,
      async (place) => void (await place.open().store.putBytes(BYTES, inSession('A'))),
      [
        ({ engine }) => engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL),
        ({ store }) => store.putBytes(BYTES, inSession('B')),
      ],
      (place, plan) => expectWhole(place, plan, { A: [0], B: [1] }),
    );
  });

  it('an erasure beside a put in the same session leaves it whole or not at all', LIMIT, async () => {
    await everyOrder(
      stepwise,
      async (place) => void (await place.open().store.putBytes(BYTES, inSession('A'))),
      [
        ({ store }) => store.putBytes(BYTES, inSession('A')),
        ({ engine }) => engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL),
      ],
      (place, plan) => expectWhole(place, plan, { A: [0, 1] }),
    );
  });

  it('two erasures of sessions that share bytes leave none', LIMIT, async () => {
    await everyOrder(
      stepwise,
      async (place) => {
        for (const session of ['A', 'B']) await place.open().store.putBytes(BYTES, inSession(session));
      },
      ['A', 'B'].map(
        (sessionId) =>
          ({ engine }) =>
            engine.eraseRefs('default', { sessionId }, 100, CALL),
      ),
      async (place, plan) => {
        await expectWhole(place, plan, { A: [0], B: [0] });
        await expectBytes(place, plan, 0);
      },
    );
  });

  it('a delete beside a put of the same artifact leaves it listed or not at all', LIMIT, async () => {
    for (const first of ['put', 'delete'] as const) {
      const put = ({ store }: { store: ArtifactStore }) => store.putBytes(BYTES, inSession('A'));
      const remove = async ({ store }: { store: ArtifactStore }) => {
        const [ref] = (await store.list()).items;
        return ref && store.delete(ref.id);
      };
      await everyOrder(
        stepwise,
        async (place) => void (await put(place.open())),
        first === 'put' ? [put, remove] : [remove, put],
        (place, plan) => expectWhole(place, plan, { A: [0, 1] }),
      );
    }
  });

  it('a sweep never takes the bytes of a put, however short its grace period', LIMIT, async () => {
    for (const first of ['put', 'sweep'] as const) {
      const put = ({ store }: { store: ArtifactStore }) => store.putBytes(BYTES, inSession('B'));
      const sweep = ({ store }: { store: ArtifactStore }) => store.sweep({ grace: 1 });
      await everyOrder(
        stepwise,
        async (place) => {
          const { store } = place.open();
          await store.delete((await store.putBytes(BYTES, inSession('A'))).id);
          place.time.now += 10;
        },
        first === 'put' ? [put, sweep] : [sweep, put],
        (place, plan) => expectWhole(place, plan, { B: [1] }),
      );
    }
  });

  it(
    'an actor that is killed leaves nothing unreadable, and the next sweep and erasure finish its work',
    LIMIT,
    async () => {
      const put = ({ store }: { store: ArtifactStore }) => store.putBytes(BYTES, inSession('B'));
      const erase = ({ engine }: { engine: ArtifactEngine }) =>
        engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL);
      const check = async (place: Place, plan: string) => {
        const { store, engine } = place.open();
        for (const { id } of (await store.list()).items)
          expect(Buffer.from((await store.get(id))!).equals(BYTES), plan).toBe(true);
        await erase({ engine });
        place.time.now += HOUR + 1;
        await store.sweep({ grace: 1 });
        await expectWhole(place, plan, { A: [0], B: [0, 1] });
        const left = (await store.list()).items.length;
        await expectBytes(place, plan, left);
      };
      for (const actors of [
        [put, erase],
        [erase, put],
      ]) {
        await everyOrder(
          stepwise,
          async (place) => void (await place.open().store.putBytes(BYTES, inSession('A'))),
          actors,
          check,
          true,
        );
      }
    },
  );

  it(
    'a put that stalls for longer than its announcement lives finds its bytes gone and stores them again',
    LIMIT,
    async () => {
      const count = await everyOrder(
        stepwise,
        async () => {},
        [({ store }) => store.putBytes(BYTES, inSession('B')), async () => {}],
        async () => {},
      );
      for (let steps = 0; steps <= count; steps++) {
        const place = newPlace(stepwise);
        const actor = new Actor();
        actor.begin(() => place.open(actor).store.putBytes(BYTES, inSession('B')));
        await actor.take(steps);
        place.time.now += HOUR + 1;
        await place.open().store.sweep({ grace: 1 });
        await actor.finish();
        await expectWhole(place, `after ${steps} steps`, { B: [1] });
      }
    },
  );
});
