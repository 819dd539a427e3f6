/** Registers the conformance kit, or a part of it, for one combination: most cases in parallel, the rest alone. */
import { ALL_CASES, type ConformanceCase, registerConformance, sharesStore } from '@tidemark/conformance';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type Combination, describeCombination, type Setting, startCombination } from './combinations.ts';
import { WITHOUT_POSTGRES } from './databases.ts';

/** Fewer than the default, since each of five combinations tries different sequences. */
const MODEL_RUNS = 20;

export function registerCombination(combination: Combination, cases: readonly ConformanceCase[] = ALL_CASES): void {
  registerKit(describeCombination(combination), () => startCombination(combination), cases);
}

/** Registers the kit, or a part of it, for servers that are started for it. */
export function registerKit(
  title: string,
  start: () => Promise<Pick<Setting, 'openUnderTest' | 'stop'>>,
  cases: readonly ConformanceCase[] = ALL_CASES,
): void {
  describe.skipIf(WITHOUT_POSTGRES)(title, () => {
    let setting: Pick<Setting, 'openUnderTest' | 'stop'>;
    beforeAll(async () => {
      setting = await start();
    }, 180_000);
    afterAll(() => setting?.stop(), 60_000);

    const open = () => setting.openUnderTest();
    const [shared, alone] = [cases.filter(sharesStore), cases.filter((it) => !sharesStore(it))];
    registerConformance({ describe, it: it.concurrent, afterAll }, 'The store, in many calls at once,', open, {
      cases: shared,
      modelRuns: MODEL_RUNS,
    });
    registerConformance({ describe, it, afterAll }, 'The store', open, { cases: alone });
  });
}
