/**
 * Revisions of records and jobs as tenants see them. On most engines all tenants share one counter, so the difference
 * between two revisions would reveal how much others write. An encrypted revision is a different number in the same
 * range. A record keeps its number until it changes, and numbers never repeat, but they are in no order.
 */
import { type Cipheriv, createCipheriv } from 'node:crypto';
import type { KvOperation, KvSwap, OverdueJob, Store } from '@tidemark/core';
import { CALLS } from '@tidemark/core';
import { around, storeWith } from '../store-parts.ts';
import type { Secret } from './secret.ts';

const HALF_BITS = 26;
const HALF = 2 ** HALF_BITS;
/** Revisions stay below 2⁵², so that they are safe integers with and without encryption. */
const RANGE = HALF * HALF;
const ROUNDS = 8;
const BLOCK_BYTES = 16;

/** Members of results that contain records or jobs. Fields of records are not among them. */
const NESTED = ['record', 'job', 'items', 'results', 'unmet'] as const;

type Method = (...args: unknown[]) => unknown;

/** A permutation of the revisions: a Feistel network with AES as its round function. */
class RevisionCipher {
  readonly #aes: Cipheriv;
  readonly #block = Buffer.alloc(BLOCK_BYTES);

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#aes = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  }

  hide(revision: number): number {
    return this.#walk(revision, (value) => this.#encrypt(value));
  }

  /** Returns the revision behind a number. A number that was never issued yields a revision that no record has. */
  show(hidden: number): number {
    return this.#walk(hidden, (value) => this.#decrypt(value));
  }

  /** 0 means that there is no record. It must stay 0, and no other number may become 0. */
  #walk(value: number, step: (value: number) => number): number {
    if (!Number.isSafeInteger(value) || value <= 0 || value >= RANGE) return value;
    let next = step(value);
    while (next === 0) next = step(next);
    return next;
  }

  #encrypt(value: number): number {
    let [left, right] = halvesOf(value);
    for (let round = 0; round < ROUNDS; round++) [left, right] = [right, (left ^ this.#mix(round, right)) >>> 0];
    return left * HALF + right;
  }

  #decrypt(value: number): number {
    let [left, right] = halvesOf(value);
    for (let round = ROUNDS - 1; round >= 0; round--) [left, right] = [(right ^ this.#mix(round, left)) >>> 0, left];
    return left * HALF + right;
  }

  #mix(round: number, half: number): number {
    this.#block[0] = round;
    this.#block.writeUInt32LE(half, 1);
    return this.#aes.update(this.#block).readUInt32LE(0) % HALF;
  }
}

function halvesOf(value: number): [number, number] {
  return [Math.floor(value / HALF), value % HALF];
}

/** Wraps the view of a tenant so that arguments and results contain encrypted revisions. */
export function withHiddenRevisions(store: Store, secret: Secret): Store {
  const { tenantId } = store.info;
  let made: Promise<RevisionCipher> | undefined;
  const cipher = () => {
    made ??= secret.keyFor('revisions', tenantId!).then(
      (key) => new RevisionCipher(key),
      (error) => {
        made = undefined;
        throw error;
      },
    );
    return made;
  };
  const { runs, agents, artifacts, admin } = store;
  const [kv, jobs] = [hiding(store, 'kv', cipher), hiding(store, 'jobs', cipher)];
  return storeWith(store, { runs, kv, jobs, agents, artifacts, admin }, { capabilities: UNORDERED });
}

export const UNORDERED = { 'kv.orderedRevisions': false } as const;

/** The calls with a condition on a revision, and their arguments with the stored revisions. */
const ARGUMENTS: Record<string, (args: unknown[], cipher: RevisionCipher) => unknown[]> = {
  'kv.swap': ([key, swap, ...rest], cipher) => [key, shown(swap as KvSwap, cipher), ...rest],
  'kv.batch': ([operations, ...rest], cipher) => [
    Array.isArray(operations) ? operations.map((it: KvOperation) => shown(it, cipher)) : operations,
    ...rest,
  ],
  'jobs.recover': ([overdue, ...rest], cipher) => {
    const { job, ...found } = overdue as OverdueJob;
    return [{ ...found, job: { ...job, revision: cipher.show(job.revision) } }, ...rest];
  },
};

function shown<T extends { expectedRevision?: number | undefined }>(conditions: T, cipher: RevisionCipher): T {
  const { expectedRevision } = conditions;
  return expectedRevision === undefined
    ? conditions
    : { ...conditions, expectedRevision: cipher.show(expectedRevision) };
}

function hiding<D extends 'kv' | 'jobs'>(store: Store, domain: D, cipher: () => Promise<RevisionCipher>): Store[D] {
  const target: object = store[domain];
  const calls: Record<string, { kind: string }> = CALLS[domain];
  return around(store[domain], (name) => {
    const call = calls[name];
    if (!call) return undefined;
    const method = Reflect.get(target, name, target) as Method;
    if (call.kind === 'iterate')
      return (...args) => eachHidden(method.apply(target, args) as AsyncIterable<unknown>, cipher);
    const argumentsOf = ARGUMENTS[`${domain}.${name}`];
    return async (...args) => {
      const ready = await cipher();
      return hidden(await method.apply(target, argumentsOf ? argumentsOf(args, ready) : args), ready);
    };
  });
}

/** Starts reading at once, because a watch begins with its first read. */
async function* eachHidden(items: AsyncIterable<unknown>, cipher: () => Promise<RevisionCipher>) {
  const ready = cipher();
  // Reported by the await below, if there is an item at all.
  ready.catch(() => {});
  for await (const item of items) yield hidden(item, await ready);
}

function hidden(value: unknown, cipher: RevisionCipher): unknown {
  if (Array.isArray(value)) return value.map((it) => hidden(it, cipher));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const copy: Record<string, unknown> = { ...value };
  if (typeof copy.revision === 'number') copy.revision = cipher.hide(copy.revision);
  for (const name of NESTED) if (name in copy) copy[name] = hidden(copy[name], cipher);
  return copy;
}
