/** Registers the conformance kit for one kind of server: most cases in parallel, the rest alone. */
import { type ConformanceCase, registerConformance, sharesStore } from '@tidemark/conformance';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openUnderTest } from './kit-parts.ts';
import { type Setting, WITHOUT_NATS } from './servers.ts';

/** Fewer than the default, since each of several settings tries different sequences. */
const MODEL_RUNS = 20;

export function registerKit(title: string, start: () => Promise<Setting>, cases: readonly ConformanceCase[]): void {
  describe.skipIf(WITHOUT_NATS)(title, () => {
    let setting: Setting;
    beforeAll(async () => {
      setting = await start();
    }, 180_000);
    afterAll(() => setting?.stop(), 60_000);

    const open = () => openUnderTest(setting.options);
    registerConformance({ describe, it: it.concurrent, afterAll }, 'The store, in many calls at once,', open, {
      cases: cases.filter(sharesStore),
      modelRuns: MODEL_RUNS,
    });
    registerConformance({ describe, it, afterAll }, 'The store', open, {
      cases: cases.filter((it) => !sharesStore(it)),
      modelRuns: MODEL_RUNS,
    });
  });
}
