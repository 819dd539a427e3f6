/**
 * A part of the conformance kit behind a proxy that throttles, fails, loses replies and executes batches in part: the
 * cases with several writers, in which a retry must determine what an earlier attempt did.
 * `npm run test:matrix -- "behind a faulty network"` runs the whole kit there.
 */
import { ALL_CASES, registerConformance } from '@tidemark/conformance';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultProxy, randomFaults, startFaultProxy } from './fault-proxy.ts';
import { KIT_FAULTS, openUnderTest } from './kit-parts.ts';
import { sharedServer, WITHOUT_DYNAMODB } from './servers.ts';

/** More than in the matrix, because fewer requests are sent. */
const FAULTS = 0.1;
const SEED = 5;

const CHOSEN: readonly RegExp[] = [
  /^kv\/(counter|swap|compare|retried|requests-|field-writes|put-is-atomic|batch-)/,
  /^jobs\/(claim|expired)/,
  /^model\/(kv|runs)/,
  /^runs\/(append|duplicate|concurren|restored-runs-stay|redact|feed-(order|has))/,
];

describe.skipIf(WITHOUT_DYNAMODB)('DynamoDB behind a faulty network', () => {
  let proxy: FaultProxy;
  beforeAll(async () => {
    proxy = await startFaultProxy(sharedServer(), randomFaults(SEED, FAULTS, KIT_FAULTS));
  });
  afterAll(async () => {
    expect(proxy.counts.size).toBe(KIT_FAULTS.length);
    await proxy.stop();
  });
  registerConformance({ describe, it: it.concurrent, afterAll }, 'The store', () => openUnderTest(proxy.url), {
    cases: ALL_CASES.filter(({ id, closesStore }) => !closesStore && CHOSEN.some((pattern) => pattern.test(id))),
    modelRuns: 5,
  });
});
