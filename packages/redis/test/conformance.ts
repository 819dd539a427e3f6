/** Registers the conformance kit, or a part of it, for one setup of Redis: most cases in parallel, the rest alone. */
import { ALL_CASES, type ConformanceCase, registerConformance, sharesStore } from '@tidemark/conformance';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openUnderTest } from './kit-parts.ts';
import { WITHOUT_REDIS } from './servers.ts';

/** Fewer than the default, since they run on a server and on a cluster each time. */
const MODEL_RUNS = 20;

/** `start` returns the URL and a function that stops the server. */
export function registerKit(
  title: string,
  start: () => Promise<{ url: string; stop(): Promise<void> }>,
  cases: readonly ConformanceCase[] = ALL_CASES,
): void {
  describe.skipIf(WITHOUT_REDIS)(title, () => {
    let server: { url: string; stop(): Promise<void> };
    beforeAll(async () => {
      server = await start();
    }, 60_000);
    afterAll(() => server?.stop(), 30_000);

    const open = () => openUnderTest(server.url);
    const [shared, alone] = [cases.filter(sharesStore), cases.filter((it) => !sharesStore(it))];
    registerConformance({ describe, it: it.concurrent, afterAll }, 'The store, in many calls at once,', open, {
      cases: shared,
      modelRuns: MODEL_RUNS,
    });
    registerConformance({ describe, it, afterAll }, 'The store', open, { cases: alone });
  });
}
