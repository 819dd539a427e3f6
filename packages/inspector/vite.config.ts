/** Builds the inspector: one page with hashed files, which the server serves and which contact no other host. */
import { defaultClientConditions, defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ['tidemark-source', ...defaultClientConditions] },
  build: {
    outDir: '../server/inspector',
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
