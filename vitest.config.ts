/** How vitest runs every test of the repository, on the sources and not on what was built from them. */

import { defaultClientConditions, defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

const SOURCE = 'tidemark-source';
/** Without `module`, under which packages such as the AWS SDK have files for bundlers that Node cannot load. */
const SERVER_CONDITIONS = defaultServerConditions.filter((condition) => condition !== 'module');

export default defineConfig({
  resolve: { conditions: [SOURCE, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [SOURCE, ...SERVER_CONDITIONS] } },
  test: {
    globalSetup: 'scripts/servers/vitest-setup.ts',
    projects: [
      {
        extends: true,
        // These tests need only the sources of their package. They share a process, so that its modules are loaded once:
        // loading took half of their time.
        test: { name: 'unit', include: ['packages/*/src/**/*.test.ts'], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['packages/*/test/**/*.test.ts', 'scripts/**/*.test.ts', 'examples/**/*.test.ts'],
        },
      },
    ],
    pool: 'forks',
    // Much of the time is spent waiting for disks and servers, so three run at once even on a machine with two cores.
    maxWorkers: 3,
    execArgv: [`--conditions=${SOURCE}`, '--disable-warning=ExperimentalWarning'],
    // Generous, because the machine may be busy and no test measures speed.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
