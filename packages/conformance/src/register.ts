/** Registers the kit with a test runner, one test per case: vitest, node:test or a runner with the same functions. */
import { ALL_CASES } from './cases/index.ts';
import type { ConformanceCase, StoreFactory } from './kit.ts';
import { type CaseSelection, selectCases } from './select.ts';
import { type BenchOptions, Workbench } from './workbench.ts';

/** The functions of the runner; `after` is node:test's name for vitest's `afterAll`. */
export interface TestRunner {
  describe: (name: string, body: () => void) => unknown;
  /** Called as `it(name, { timeout }, body)`, which both runners accept. Their overloads do not fit one signature. */
  it: (name: string, ...rest: never[]) => unknown;
  after?: (body: () => Promise<void>) => unknown;
  afterAll?: (body: () => Promise<void>) => unknown;
}

export interface RegisterOptions extends CaseSelection, BenchOptions {
  /** Cases to run instead of the kit's own cases. */
  cases?: readonly ConformanceCase[];
}

/** The parameters that both runners accept. */
type DefineTest = (
  name: string,
  options: { timeout: number },
  body: (context: SkippableContext) => Promise<void>,
) => void;

interface SkippableContext {
  skip?: (reason?: string) => void;
}

/**
 * Registers a test for each case. The store is opened by the first test, so a test whose case needs an undeclared
 * capability starts and then skips itself, with that capability as the reason.
 *
 * @example
 * import { afterAll, describe, it } from 'vitest';
 * registerConformance({ describe, it, afterAll }, 'my store', () => createMyStore());
 */
export function registerConformance(
  runner: TestRunner,
  name: string,
  factory: StoreFactory,
  options: RegisterOptions = {},
): void {
  const workbench = new Workbench(factory, options);
  const afterAll = runner.afterAll ?? runner.after;
  const it = runner.it as unknown as DefineTest;
  runner.describe(`${name} keeps the Tidemark contract`, () => {
    for (const testCase of selectCases(options.cases ?? ALL_CASES, options)) {
      const title = `${testCase.id}: ${testCase.title} [${testCase.proves.join(', ')}]`;
      // The kit's own limit is shorter, so that its message is shown.
      it(title, { timeout: workbench.caseLimitMs + 5_000 }, async (context) => {
        const missing = await workbench.missingFor(testCase);
        if (missing.length > 0) return context.skip?.(`the store does not declare ${missing.join(', ')}`);
        await workbench.run(testCase);
      });
    }
    afterAll?.(() => workbench.close());
  });
}
