/**
 * Calls every method with each of its arguments and members absent, `undefined`, `null` and empty. Over HTTP the call
 * must return the same result, or fail with the same code and field, and have the same effect as on the store itself.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Store } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bench, contentsOf, type Outcome, outcomeOf, variantsOf } from './differential.ts';
import { EVERY_CALL } from './every-call.ts';
import type { Filled } from './filled-store.ts';

const LIMIT = { timeout: 300_000 };
const CUT_OFF = new Set(['OUTCOME_UNKNOWN', 'UNAVAILABLE']);
/** Characters shown of each result. */
const SHOWN = 160;
const DOMAINS = Object.keys(EVERY_CALL) as (keyof typeof EVERY_CALL)[];

/** Returns the methods of a part of a store, including inherited ones. */
function methodsOf(part: object): string[] {
  const names = new Set<string>();
  for (let it = part; it !== Object.prototype; it = Object.getPrototypeOf(it) as object)
    for (const name of Object.getOwnPropertyNames(it)) names.add(name);
  names.delete('constructor');
  return [...names].filter((name) => typeof (part as Record<string, unknown>)[name] === 'function').sort();
}

type AnyCall = (...args: unknown[]) => unknown;

function call(store: Store, domain: string, method: string, args: unknown[], other?: Outcome): Promise<Outcome> {
  const part = (store as unknown as Record<string, Record<string, AnyCall>>)[domain]!;
  return outcomeOf(() => part[method]!(...args), other);
}

/** Runs all variants of a method. Returns a sentence for each difference. */
async function differences(domain: keyof typeof EVERY_CALL, method: string, view: string | null): Promise<string[]> {
  const found: string[] = [];
  const calls = EVERY_CALL[domain] as unknown as Record<string, (filled: Filled) => unknown[]>;
  const viewOf = (store: Store) => (view === null ? store : store.forTenant(view));
  const contents = async () => {
    const { local, remote } = bench.pair;
    return [JSON.stringify(await contentsOf(local)), JSON.stringify(await contentsOf(remote))] as const;
  };
  const { filled } = bench.pair;
  const [before] = await contents();
  // One generator per call, so that no two calls share an object.
  const variants = () => variantsOf(() => calls[method]!(filled));
  const generators = [variants(), variants(), variants(), variants()] as const;
  for (const { name, args } of generators[0]) {
    const [same, again, sameAgain] = generators.slice(1).map((it) => it.next().value!.args);
    let here = await call(viewOf(bench.pair.local), domain, method, args);
    let there = await call(viewOf(bench.client), domain, method, same!, here);
    if ('code' in there && CUT_OFF.has(there.code)) {
      // A kept-alive connection may be closed just as it is used, which has nothing to do with the call.
      await bench.renew();
      here = await call(viewOf(bench.pair.local), domain, method, again!);
      there = await call(viewOf(bench.client), domain, method, sameAgain!, here);
    }
    const what = `${domain}.${method} ${name}`;
    if (!isDeepStrictEqual(here, there) && !isOtherFault(here, there))
      found.push(`${what}: ${shown(here)} here, ${shown(there)} over HTTP`);
    if ('code' in here && 'code' in there) continue;
    const [left, right] = await contents();
    if (left !== right) found.push(`${what}: leaves other contents over HTTP`);
    if (left !== before || right !== before) await bench.renew();
  }
  for (const left of await contents())
    if (left !== before) found.push(`${domain}.${method}: a call that failed has written`);
  return found;
}

/** The client checks these options before it sends a call. A store may report another fault of the same call first. */
const CHECKED_FIRST: readonly unknown[] = ['signal', 'timeoutMs', 'onProgress'];

/** Whether both calls failed and only the order of the checks differs. */
function isOtherFault(here: Outcome, there: Outcome): boolean {
  return 'code' in here && 'code' in there && CHECKED_FIRST.includes(there.field);
}

function shown(outcome: Outcome): string {
  return JSON.stringify(outcome).slice(0, SHOWN);
}

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

describe('the table of calls', () => {
  it('has every method of a store', () => {
    for (const domain of DOMAINS) {
      const methods = methodsOf(bench.pair.local[domain]);
      expect(Object.keys(EVERY_CALL[domain]).sort(), domain).toEqual(methods);
      expect(methodsOf(bench.client[domain]), `the client's ${domain}`).toEqual(methods);
    }
  });
});

describe.for(DOMAINS)('%s over HTTP', (domain) => {
  it.for(Object.keys(EVERY_CALL[domain]))('%s has the same effect', LIMIT, async (method) => {
    expect([...(await differences(domain, method, null)), ...(await differences(domain, method, 'default'))]).toEqual(
      [],
    );
  });
});
