/** How vitest runs the tests on mutants: in one process, with the runner that switches mutants. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import shared from '../../vitest.config.ts';

/** Runs unit tests before files that run the kit or use a disk, because one failure is enough. */
class ShortFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      (moduleId.includes('/src/') ? 0 : 1) + (/conformance/.test(moduleId) ? 2 : 0);
    return files.sort((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

const { projects: _, ...test } = shared.test ?? {};

export default defineConfig({
  ...shared,
  test: {
    ...test,
    include: ['packages/*/{src,test}/**/*.test.ts', 'scripts/mutants/kit.mutants.ts'],
    runner: join(import.meta.dirname, 'switching-runner.ts'),
    isolate: false,
    fileParallelism: false,
    maxConcurrency: 8,
    sequence: { sequencer: ShortFilesFirst },
    // A mutant may reject promises that nobody waits for.
    dangerouslyIgnoreUnhandledErrors: true,
  },
});
