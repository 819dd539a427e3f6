/** How vitest runs every test of the repository, on the sources and not on what was built from them. */

import { defaultClientConditions, defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

const SOURCE = 'tidemark-source';

export default defineConfig({
  resolve: { conditions: [SOURCE, ...defaultClientConditions] },
  ssr: { resolve: { conditions: [SOURCE, ...defaultServerConditions] } },
  test: {
    include: ['packages/*/{src,test}/**/*.test.ts', 'scripts/**/*.test.ts', 'examples/**/*.test.ts'],
    globalSetup: 'scripts/servers/vitest-setup.ts',
    pool: 'forks',
    // Much of the time is spent waiting for disks and servers: two at once also on a machine of two cores.
    maxWorkers: 2,
    execArgv: [`--conditions=${SOURCE}`, '--disable-warning=ExperimentalWarning'],
    // Generous, as a machine may have other things to do: no test is here to say how fast something is.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
