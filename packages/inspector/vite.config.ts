/** How the inspector is built: one page of hashed files that the server hands out, and that ask no other host. */
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
