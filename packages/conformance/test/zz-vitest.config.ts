import { defaultClientConditions, defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
export default defineConfig({ root: '/work/main', resolve: { conditions: ['tidemark-source', ...defaultClientConditions] }, ssr: { resolve: { conditions: ['tidemark-source', ...defaultServerConditions] } },
 test: { include: ['packages/*/{src,test}/**/*.test.ts'], pool: 'forks', execArgv: ['--conditions=tidemark-source'], testTimeout: 40000 } });
