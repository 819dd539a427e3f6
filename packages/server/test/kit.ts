/** Registers the conformance kit, or a part of it, for the client, with its own server on a store of any engine. */

import { ALL_CASES, type ConformanceCase, registerConformance, sharesStore } from '@tidemark/conformance';
import { afterAll, describe, it } from 'vitest';
import { type Backing, openUnderTest } from './kit-parts.ts';

/** Fewer than by default: each engine's own tests run more. */
const MODEL_RUNS = 10;
const CASE_LIMIT_MS = 150_000;

/** Cases that check a value shortly before it expires, for which a call may be too slow while other cases run. */
const TIMED = /ttl|expir|millisecond|lease|index-follows-kv/;

export function registerKit(
  title: string,
  newBacking: () => Promise<Backing>,
  kit: readonly ConformanceCase[] = ALL_CASES,
): void {
  describe(title, () => {
    const open = async () => openUnderTest(await newBacking());
    const register = (name: string, cases: readonly ConformanceCase[], test: typeof it) =>
      registerConformance({ describe, it: test, afterAll }, name, open, {
        cases,
        modelRuns: MODEL_RUNS,
        caseLimitMs: CASE_LIMIT_MS,
      });
    const sharesServer = (testCase: ConformanceCase) => sharesStore(testCase) && !TIMED.test(testCase.id);
    register('The client, in many calls at once,', kit.filter(sharesServer), it.concurrent as typeof it);
    register(
      'The client',
      kit.filter((testCase) => !sharesServer(testCase)),
      it,
    );
  });
}
