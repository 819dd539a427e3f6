/**
 * The layering of the packages, as docs and design draw it: `tidemark, cli → server, client, engines, runtime → core`.
 * Inside core: the layers of ARCHITECTURE.md. Each rule names the failure it prevents; tests may import what they like.
 */

const TESTS = '\\.(test|node-test)\\.ts$|^packages/[^/]+/test/';
const PACKAGE = '^packages/([^/]+)/';

/** Packages that sources of `name` may import besides their own. Keyed engines have no entry: they import only `core`. */
const MAY_IMPORT = {
  core: [],
  conformance: ['core'],
  runtime: ['core'],
  s3: ['core', 'runtime'],
  snowflake: ['core', 'runtime'],
  sql: ['core'],
  sqlite: ['core', 'sql'],
  postgres: ['core', 'sql'],
  wire: ['core'],
  client: ['core', 'wire'],
  server: ['core', 'runtime', 'wire'],
  inspector: ['core', 'wire'],
  cli: [
    'core',
    'runtime',
    'conformance',
    'server',
    'client',
    'tidemark',
    'sqlite',
    'postgres',
    'dynamodb',
    's3',
    'snowflake',
  ],
  langgraph: ['core'],
  claude: ['core'],
  'openai-agents': ['core'],
  'ai-sdk': ['core'],
  tidemark: ['core', 'runtime', 'client', 'cli', 'sqlite', 'postgres', 'redis', 'nats', 'dynamodb', 's3'],
};

/** A package imports only the layers below it, so engines never import each other. */
const directions = Object.entries(MAY_IMPORT).map(([name, below]) => ({
  name: `${name}-keeps-its-direction`,
  comment: `Besides itself, ${name} may import ${below.join(', ') || 'no other package'}.`,
  severity: 'error',
  from: { path: `^packages/${name}/`, pathNot: TESTS },
  to: { path: PACKAGE, pathNot: `^packages/(${[name, ...below].join('|')})/` },
}));

/** The folders and files of `core`, lowest layer first, as ARCHITECTURE.md lists them. */
const CORE_LAYERS = [
  ['contracts', 'contracts/|(hash|node-version)\\.ts'],
  ['ports', 'engine/(?!index\\.ts)'],
  ['checks', 'checks/'],
  ['codec', 'codec/'],
  ['tools', 'tools/'],
  ['domains', '(runs|kv|jobs|agents|artifacts|admin|events|projections)/'],
  ['derived engines', 'keyed/'],
  ['assembly', 'store\\.ts'],
  ['memory', 'memory/'],
  ['wrappers', '(wrappers|telemetry)/'],
  ['adapters', 'adapters/'],
  ['entries', '(index|portable|toolbox|engine/index)\\.ts'],
];
const CORE = '^packages/core/src/';

/** Domains that a domain of `core` may import besides its own. */
const DOMAIN_MAY_IMPORT = {
  kv: [],
  runs: [],
  artifacts: [],
  events: [],
  jobs: ['kv'],
  agents: ['kv'],
  projections: ['kv', 'runs'],
  admin: ['kv', 'runs', 'agents', 'artifacts'],
};
const DOMAINS = Object.keys(DOMAIN_MAY_IMPORT);

/** A layer of `core` imports only itself and the layers below it. */
const coreLayers = CORE_LAYERS.map(([name, paths], at) => ({
  name: `core-${name.replaceAll(' ', '-')}-import-lower-layers`,
  comment: `In core, ${name} may import only from: ${CORE_LAYERS.slice(0, at + 1).map(([it]) => it)}.`,
  severity: 'error',
  from: { path: `${CORE}(${paths})`, pathNot: TESTS },
  to: {
    path: `${CORE}(${
      CORE_LAYERS.slice(at + 1)
        .map(([, it]) => it)
        .join('|') || '$^'
    })`,
  },
}));

const coreDomains = DOMAINS.map((name) => ({
  name: `core-${name}-keeps-its-domain`,
  comment: `Besides itself, the domain ${name} may import ${DOMAIN_MAY_IMPORT[name].join(', ') || 'no other domain'}.`,
  severity: 'error',
  from: { path: `${CORE}${name}/`, pathNot: TESTS },
  to: {
    path: `${CORE}(${DOMAINS.join('|')})/`,
    pathNot: `${CORE}(${[name, ...DOMAIN_MAY_IMPORT[name]].join('|')})/`,
  },
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
      name: 'other-packages-import-only-core',
      comment: 'A package that is not in MAY_IMPORT is an engine, or needs an entry.',
      severity: 'error',
      from: { path: PACKAGE, pathNot: [TESTS, `^packages/(${Object.keys(MAY_IMPORT).join('|')})/`] },
      to: { path: PACKAGE, pathNot: '^packages/($1|core)/' },
    },
    ...directions,
    {
      name: 'every-file-of-core-has-its-layer',
      comment: 'A new folder or file at the top of core must be given its place in CORE_LAYERS.',
      severity: 'error',
      from: { path: CORE, pathNot: [TESTS, `${CORE}(${CORE_LAYERS.map(([, it]) => it).join('|')})`] },
      to: {},
    },
    ...coreLayers,
    ...coreDomains,
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
      name: 'client-and-wire-run-anywhere',
      comment:
        'The client has nothing but fetch: what it imports of core and wire must be free of modules of Node too.',
      severity: 'error',
      from: { path: '^packages/(client|wire)/src/', pathNot: TESTS },
      to: { path: '^(node:)?(crypto|zlib|buffer|fs|http|net|stream|util|timers)(/|$)', reachable: true },
    },
    {
      name: 'tests-beside-sources-stay-in-their-package',
      comment: 'A test that needs servers, shared helpers or other packages lies in test/ of its package.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src/.*\\.test\\.ts$' },
      to: { path: '^(packages|scripts|faults|bench|examples)/', pathNot: '^packages/($1|core)/src/' },
    },
    {
      name: 'browsers-get-no-schemas',
      comment: 'The table of routes brings a library of schemas along: code for browsers imports only its types.',
      severity: 'error',
      from: { path: '^packages/(client|inspector)/src/|^packages/wire/src/[^/]+\\.ts$', pathNot: TESTS },
      to: { path: '^packages/wire/src/(routes|schemas)/', dependencyTypesNot: ['type-only'] },
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
    // Built files. The check of the packages rebuilds them while this one reads.
    exclude: { path: '(^|/)dist/|^packages/server/inspector/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['tidemark-source', 'import', 'node', 'types', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.json'],
    },
  },
};
