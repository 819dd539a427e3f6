/**
 * The layering of the packages, as docs and design draw it: `tidemark, cli → server, client, engines, runtime → core`.
 * Each rule names the failure it prevents; tests may import what they like.
 */

const TESTS = '\\.(test|node-test)\\.ts$|^packages/[^/]+/test/';
const ENGINES = ['sqlite', 'postgres', 'redis', 'nats'];
const PACKAGE = '^packages/([^/]+)/';

/** Packages that sources of `name` may import besides their own. */
const MAY_IMPORT = {
  core: [],
  conformance: ['core'],
  runtime: ['core'],
  sql: ['core'],
  sqlite: ['core', 'sql'],
  postgres: ['core', 'sql'],
  redis: ['core'],
  nats: ['core'],
  client: ['core'],
  server: ['core', 'runtime'],
  inspector: ['core'],
  cli: ['core', 'runtime', 'conformance', 'server', 'client', 'tidemark', ...ENGINES],
  tidemark: ['core', 'runtime', 'client', 'cli', ...ENGINES],
};

/** A package imports only the layers below it, so engines never import each other. */
const directions = Object.entries(MAY_IMPORT).map(([name, below]) => ({
  name: `${name}-keeps-its-direction`,
  comment: `Besides itself, ${name} may import ${below.join(', ') || 'no other package'}.`,
  severity: 'error',
  from: { path: `^packages/${name}/`, pathNot: TESTS },
  to: { path: PACKAGE, pathNot: `^packages/(${[name, ...below].join('|')})/` },
}));

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that import each other load in an order nobody chose.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every-import-resolves',
      comment: 'An import that cannot be resolved escapes every other rule here.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'every-package-has-its-layer',
      comment: 'A new package must be given its place in MAY_IMPORT.',
      severity: 'error',
      from: { path: PACKAGE, pathNot: `^packages/(${Object.keys(MAY_IMPORT).join('|')})/` },
      to: {},
    },
    ...directions,
    {
      name: 'contracts-import-only-contracts',
      comment: 'What is promised must be readable without how it is kept.',
      severity: 'error',
      from: { path: '^packages/core/src/contracts/', pathNot: TESTS },
      to: { pathNot: '^packages/core/src/contracts/' },
    },
    {
      name: 'core-does-no-io',
      comment: 'Everything core knows of the world is injected; hashes, ciphers and compression only compute.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: TESTS },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|zlib|util|assert|buffer|events|async_hooks)$' },
    },
    {
      name: 'core-has-no-dependencies',
      comment: 'A driver, or any package at all, would reach every user of every engine.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: TESTS },
      to: { path: 'node_modules/' },
    },
    {
      name: 'client-runs-anywhere',
      comment: 'The client has nothing but fetch: what it imports of core must be free of modules of Node too.',
      severity: 'error',
      from: { path: '^packages/client/src/', pathNot: TESTS },
      to: { path: '^(node:)?(crypto|zlib|buffer|fs|http|net|stream|util|timers)(/|$)', reachable: true },
    },
    {
      name: 'sources-do-not-import-tests',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: TESTS },
      to: { path: `${TESTS}|^scripts/|^examples/` },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['tidemark-source', 'import', 'node', 'types', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.json'],
    },
  },
};
