/**
 * Runs two actors on the artifacts of a keyed backend, in every order of their steps with up to three switches. One
 * actor stalls at any step, the other continues for any number of steps, and then the first resumes, or never does.
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

/** An actor that waits before every step until the test lets it continue. */
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

  /** Takes up to `steps` steps. Returns how many it took. */
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

/** Wraps a port so that each call is a step of an actor; `replaced` overrides methods. */
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

interface Fixture {
  time: { now: number };
  /** Opens the artifacts for an actor. */
  open(actor?: Actor): { store: ArtifactStore; engine: ArtifactEngine };
}

/** Creates empty artifacts, with batches as one step, or as one step per write. */
function newFixture(stepwise: boolean): Fixture {
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

/** Runs two actors in every order with three switches, and calls `check` after each run. */
async function everyOrder(
  stepwise: boolean,
  prepare: (fixture: Fixture) => Promise<void>,
  actors: readonly ((own: { store: ArtifactStore; engine: ArtifactEngine }) => Promise<unknown>)[],
  check: (fixture: Fixture, plan: string) => Promise<void>,
  killed = false,
): Promise<number> {
  const play = async ([first, second, third]: Plan) => {
    const fixture = newFixture(stepwise);
    await prepare(fixture);
    const [a, b] = [new Actor(), new Actor()];
    a.begin(() => actors[0]!(fixture.open(a)));
    b.begin(() => actors[1]!(fixture.open(b)));
    const taken = [await a.take(first), await b.take(second), await a.take(third)] as const;
    if (!killed) await a.finish();
    await b.finish();
    await check(fixture, `after ${taken.join(', ')} steps`);
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

/** Asserts that every reference is readable and listed, and that the counts match. */
async function expectReadable(
  fixture: Fixture,
  plan: string,
  counts: { [session: string]: readonly number[] },
): Promise<void> {
  const { store } = fixture.open();
  const all = (await store.list()).items;
  for (const { id } of all) expect(Buffer.from((await store.get(id))!).equals(BYTES), plan).toBe(true);
  expect((await store.list({ traceId: 'trace' })).items, plan).toEqual(all);
  for (const [sessionId, allowed] of Object.entries(counts)) {
    const own = all.filter(({ scope }) => scope.sessionId === sessionId);
    expect((await store.list({ sessionId })).items, plan).toEqual(own);
    expect(allowed, `${plan}: artifacts of ${sessionId}`).toContain(own.length);
  }
}

/** Asserts that bytes are stored exactly as long as they are referenced. */
async function expectBytes(fixture: Fixture, plan: string, blobs: number): Promise<void> {
  fixture.time.now += 10;
  const { store } = fixture.open();
  for (const { id } of (await store.list()).items) await store.delete(id);
  expect((await store.sweep({ grace: 1 })).blobs, plan).toBe(blobs);
}

describe.for([
  ['one step', false],
  ['one step per write', true],
] as const)('batches of %s', ([, stepwise]) => {
  const LIMIT = { timeout: 120_000 };

  it('an erasure never removes the bytes of a put, and always removes its own', LIMIT, async () => {
    const played = await everyOrder(
      stepwise,
      async (fixture) => void (await fixture.open().store.putBytes(BYTES, inSession('A'))),
      [
        ({ store }) => store.putBytes(BYTES, inSession('B')),
        ({ engine }) => engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL),
      ],
      async (fixture, plan) => {
        await expectReadable(fixture, plan, { A: [0], B: [1] });
        await expectBytes(fixture, plan, 1);
      },
    );
    expect(played).toBeGreaterThan(300);
  });

  it('an erasure that stalls never removes the bytes of a put', LIMIT, async () => {
    await everyOrder(
      stepwise,
      async (fixture) => void (await fixture.open().store.putBytes(BYTES, inSession('A'))),
      [
        ({ engine }) => engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL),
        ({ store }) => store.putBytes(BYTES, inSession('B')),
      ],
      (fixture, plan) => expectReadable(fixture, plan, { A: [0], B: [1] }),
    );
  });

  it(
    'an erasure during a put in the same session either leaves the artifact complete or removes it',
    LIMIT,
    async () => {
      await everyOrder(
        stepwise,
        async (fixture) => void (await fixture.open().store.putBytes(BYTES, inSession('A'))),
        [
          ({ store }) => store.putBytes(BYTES, inSession('A')),
          ({ engine }) => engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL),
        ],
        (fixture, plan) => expectReadable(fixture, plan, { A: [0, 1] }),
      );
    },
  );

  it('two erasures of sessions that share bytes leave no bytes', LIMIT, async () => {
    await everyOrder(
      stepwise,
      async (fixture) => {
        for (const session of ['A', 'B']) await fixture.open().store.putBytes(BYTES, inSession(session));
      },
      ['A', 'B'].map(
        (sessionId) =>
          ({ engine }) =>
            engine.eraseRefs('default', { sessionId }, 100, CALL),
      ),
      async (fixture, plan) => {
        await expectReadable(fixture, plan, { A: [0], B: [0] });
        await expectBytes(fixture, plan, 0);
      },
    );
  });

  it('a delete during a put of the same artifact either leaves it listed or removes it', LIMIT, async () => {
    for (const first of ['put', 'delete'] as const) {
      const put = ({ store }: { store: ArtifactStore }) => store.putBytes(BYTES, inSession('A'));
      const remove = async ({ store }: { store: ArtifactStore }) => {
        const [ref] = (await store.list()).items;
        return ref && store.delete(ref.id);
      };
      await everyOrder(
        stepwise,
        async (fixture) => void (await put(fixture.open())),
        first === 'put' ? [put, remove] : [remove, put],
        (fixture, plan) => expectReadable(fixture, plan, { A: [0, 1] }),
      );
    }
  });

  it('a sweep never removes the bytes of a put, however short the grace period', LIMIT, async () => {
    for (const first of ['put', 'sweep'] as const) {
      const put = ({ store }: { store: ArtifactStore }) => store.putBytes(BYTES, inSession('B'));
      const sweep = ({ store }: { store: ArtifactStore }) => store.sweep({ grace: 1 });
      await everyOrder(
        stepwise,
        async (fixture) => {
          const { store } = fixture.open();
          await store.delete((await store.putBytes(BYTES, inSession('A'))).id);
          fixture.time.now += 10;
        },
        first === 'put' ? [put, sweep] : [sweep, put],
        (fixture, plan) => expectReadable(fixture, plan, { B: [1] }),
      );
    }
  });

  it('a killed actor leaves nothing unreadable, and the next sweep and erasure finish its work', LIMIT, async () => {
    const put = ({ store }: { store: ArtifactStore }) => store.putBytes(BYTES, inSession('B'));
    const erase = ({ engine }: { engine: ArtifactEngine }) =>
      engine.eraseRefs('default', { sessionId: 'A' }, 100, CALL);
    const check = async (fixture: Fixture, plan: string) => {
      const { store, engine } = fixture.open();
      for (const { id } of (await store.list()).items)
        expect(Buffer.from((await store.get(id))!).equals(BYTES), plan).toBe(true);
      await erase({ engine });
      fixture.time.now += HOUR + 1;
      await store.sweep({ grace: 1 });
      await expectReadable(fixture, plan, { A: [0], B: [0, 1] });
      const left = (await store.list()).items.length;
      await expectBytes(fixture, plan, left);
    };
    for (const actors of [
      [put, erase],
      [erase, put],
    ]) {
      await everyOrder(
        stepwise,
        async (fixture) => void (await fixture.open().store.putBytes(BYTES, inSession('A'))),
        actors,
        check,
        true,
      );
    }
  });

  it('a put that outlasts its announcement notices that its bytes are gone and stores them again', LIMIT, async () => {
    const count = await everyOrder(
      stepwise,
      async () => {},
      [({ store }) => store.putBytes(BYTES, inSession('B')), async () => {}],
      async () => {},
    );
    for (let steps = 0; steps <= count; steps++) {
      const fixture = newFixture(stepwise);
      const actor = new Actor();
      actor.begin(() => fixture.open(actor).store.putBytes(BYTES, inSession('B')));
      await actor.take(steps);
      fixture.time.now += HOUR + 1;
      await fixture.open().store.sweep({ grace: 1 });
      await actor.finish();
      await expectReadable(fixture, `after ${steps} steps`, { B: [1] });
    }
  });
});
