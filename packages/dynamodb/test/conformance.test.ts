/** A part of the conformance kit on DynamoDB: most cases in parallel, the rest alone. */
import { ALL_CASES, registerConformance, sharesStore } from '@tidemark/conformance';
import { afterAll, describe, it } from 'vitest';
import { isChosen } from './kit-choice.ts';
import { openUnderTest } from './kit-parts.ts';
import { sharedServer, WITHOUT_DYNAMODB } from './servers.ts';

/** Fewer than the default: every call is an HTTP request. */
const MODEL_RUNS = 5;

describe.skipIf(WITHOUT_DYNAMODB)('DynamoDB', () => {
  const open = () => openUnderTest(sharedServer());
  const cases = ALL_CASES.filter(isChosen);
  registerConformance({ describe, it: it.concurrent, afterAll }, 'The store, in many calls at once,', open, {
    cases: cases.filter(sharesStore),
    modelRuns: MODEL_RUNS,
  });
  registerConformance({ describe, it, afterAll }, 'The store', open, {
    cases: cases.filter((it) => !sharesStore(it)),
    modelRuns: MODEL_RUNS,
  });
});
