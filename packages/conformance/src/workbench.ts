/** Opens the store under test for the first case and gives each case a bench with its own tenant. */
import { randomUUID } from 'node:crypto';
import type { Capability, Store } from '@tidemark/core';
import { engineOf, sleep, withCodec, withRetention, withRuns } from '@tidemark/core/engine';
import type { Bench, ConformanceCase, ModelSettings, StoreFactory, StoreUnderTest } from './kit.ts';
import { closesStore } from './select.ts';

const DEFAULT_LIMIT_MS = 60_000;
const DEFAULT_MODEL_RUNS = 60;
/**
 * The page size for reading a large feed. With smaller pages, reading the whole feed is slow; with larger pages, a
 * single page takes long on a busy machine.
 */
export const LARGE_FEED_PAGE = 2_000;

/** Options for running cases. */
export interface BenchOptions {
  /** The seed of the model-based cases. */
  seed?: number;
  modelRuns?: number;
  /** The time limit of a case in milliseconds, by default 60 000. Prevents a store that hangs from hanging the kit. */
  caseLimitMs?: number;
}

export class Workbench {
  readonly caseLimitMs: number;
  readonly #factory: StoreFactory;
  readonly #model: ModelSettings;
  readonly #mark = randomUUID().slice(0, 8);
  #opening: Promise<StoreUnderTest> | undefined;
  #peer: Promise<Store> | undefined;
  #feedStart: Promise<string | undefined> | undefined;
  #ids = 0;

  constructor(factory: StoreFactory, options: BenchOptions = {}) {
    this.caseLimitMs = options.caseLimitMs ?? DEFAULT_LIMIT_MS;
    this.#factory = factory;
    this.#model = {
      runs: options.modelRuns ?? DEFAULT_MODEL_RUNS,
      ...(options.seed === undefined ? {} : { seed: options.seed }),
    };
  }

  /** Opens the store under test on the first call and returns it. */
  open(): Promise<StoreUnderTest> {
    this.#opening ??= openStore(this.#factory);
    return this.#opening;
  }

  /** Returns the capabilities that the case needs and the store does not declare. */
  async missingFor(testCase: ConformanceCase): Promise<Capability[]> {
    const under = await this.open();
    const { capabilities } = under.store.info;
    return (testCase.needs ?? []).filter((it) => !capabilities[it] || !canBeTried(it, under));
  }

  /** Runs one case within its time limit. Rejects with the error of the case. */
  async run(testCase: ConformanceCase): Promise<void> {
    const bench = await this.#benchFor(testCase);
    try {
      await withinLimit(testCase.run(bench), this.caseLimitMs);
    } finally {
      if (closesStore(testCase)) await this.close();
    }
  }

  /** Closes the store; a later case opens a new one. */
  async close(): Promise<void> {
    const opening = this.#opening;
    const peer = this.#peer;
    this.#opening = undefined;
    this.#peer = undefined;
    this.#feedStart = undefined;
    if (!opening) return;
    const under = await opening.catch(() => undefined);
    if (!under) return;
    await (await peer?.catch(() => undefined))?.close();
    await under.store.close();
    await under.dispose?.();
  }

  /** Reads past the events of other cases. The time that this takes does not count towards the time limit of a case. */
  #startOfFeed(tenant: Store): Promise<string | undefined> {
    this.#feedStart ??= endOfFeed(tenant);
    return this.#feedStart;
  }

  async #benchFor({ needs }: ConformanceCase): Promise<Bench> {
    const under = await this.open();
    const id = (hint = 'id') => `${hint}-${this.#mark}-${++this.#ids}`;
    const tenantId = id('tenant');
    const tenant = under.store.forTenant(tenantId);
    const feedStart = needs?.includes('runs.feed') ? await this.#startOfFeed(tenant) : undefined;
    return {
      store: under.store,
      tenant,
      tenantId,
      model: this.#model,
      ...(feedStart === undefined ? {} : { feedStart }),
      id,
      peer: () => {
        this.#peer ??= under.peer ? under.peer() : Promise.resolve(under.store);
        return this.#peer;
      },
      encoded: (codec) => {
        if (!under.withCodec)
          throw new Error('This store under test takes no codec; the case must declare that it needs it');
        return under.withCodec(codec).forTenant(tenantId);
      },
      withRetention: (change) => under.withRetention?.(change).forTenant(tenantId) ?? null,
      withRuns: (change) => under.withRuns?.(change).forTenant(tenantId) ?? null,
      pass: async (ms) => {
        if (under.advance) await under.advance(ms);
        // A timer may fire a millisecond early, and the engine's clock is not synchronised with the clock of this
        // process.
        else await sleep(ms + 5);
      },
      setBack: async (ms) => under.setBack?.(ms),
      damage: async (key, field) => {
        await under.damage?.(tenantId, key, field);
        return under.damage !== undefined;
      },
      reopen: async () => {
        if (!under.reopen)
          throw new Error('This store under test has no reopen; the case must declare that it needs it');
        under.store = await under.reopen();
        return under.store;
      },
    };
  }
}

/** Returns false for a capability that requires a function which the store under test lacks. */
function canBeTried(capability: Capability, under: StoreUnderTest): boolean {
  if (capability === 'reopen') return under.reopen !== undefined;
  return capability !== 'payloadCodec' || under.withCodec !== undefined;
}

async function openStore(factory: StoreFactory): Promise<StoreUnderTest> {
  const made = await factory();
  const under = 'store' in made ? { ...made } : { store: made };
  if (engineOf(under.store)) {
    under.withCodec ??= (codec) => withCodec(under.store, codec)!;
    under.withRetention ??= (change) => withRetention(under.store, change)!;
    under.withRuns ??= (change) => withRuns(under.store, change)!;
  }
  return under;
}

/** Returns the cursor after the last event, read in the view of a new tenant so that no payload has to be decoded. */
async function endOfFeed(tenant: Store): Promise<string | undefined> {
  for (let after: string | undefined; ; ) {
    const { next } = await tenant.runs.feedPage({
      limit: LARGE_FEED_PAGE,
      ...(after === undefined ? {} : { cursor: after }),
    });
    if (next === undefined || next === after) return after;
    after = next;
  }
}

async function withinLimit(run: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The case did not end within ${limitMs / 1000} s: a call of the store hangs`)),
      limitMs,
    );
  });
  try {
    await Promise.race([run, limit]);
  } finally {
    clearTimeout(timer);
  }
}
