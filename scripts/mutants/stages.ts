/** The tests that judge mutants, in stages. Each stage is one process, and the cheapest stages come first. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offeredUrl, type ServerName } from '../servers/index.ts';

export interface Stage {
  name: string;
  /** Parts of the paths of the test files. */
  paths: readonly string[];
  /** Whether these tests run a file. */
  runs(file: string): boolean;
  kit?: 'memory' | 'sqlite' | 'redis' | 'postgres';
  excluded?: readonly string[];
  server?: ServerName;
}

const isTypeScript = (file: string) => file.endsWith('.ts');
const isInterleaved = (file: string) => isTypeScript(file) && /artifact|keyed/.test(file);
const isSql = (file: string) => file.startsWith('packages/sql/');
const isRedis = (file: string) => file.startsWith('packages/redis/') || file.includes('/keyed/');

const KIT = ['scripts/mutants/kit.mutants.ts'];
/** Runs artifact calls in every order, which takes longer than many other files together. */
const INTERLEAVINGS = 'artifact-interleavings';
/** These run the kit, which has its own stage, or test durability by killing processes. */
const COVERED_ELSEWHERE = ['conformance*', 'faults', 'blob-kills'];
/** These test servers, connections and other processes. Mutants are switched on in the test process only. */
const SERVERS = ['tls', 'programs', 'isolation', 'cluster', 'migrations', 'permissions'];
const EXCLUDED_TESTS = [...COVERED_ELSEWHERE, ...SERVERS];

export const STAGES: readonly Stage[] = [
  { name: 'unit tests', paths: ['packages/core/', 'packages/sql/'], runs: isTypeScript, excluded: [INTERLEAVINGS] },
  { name: 'kit on memory', paths: KIT, runs: isTypeScript, kit: 'memory' },
  { name: 'kit on SQLite', paths: KIT, runs: isTypeScript, kit: 'sqlite' },
  { name: 'interleavings', paths: [INTERLEAVINGS], runs: isInterleaved },
  { name: 'tests of SQLite', paths: ['packages/sqlite/test'], runs: isTypeScript, excluded: EXCLUDED_TESTS },
  { name: 'kit on Redis', paths: KIT, runs: isRedis, kit: 'redis', server: 'redis' },
  { name: 'tests of Redis', paths: ['packages/redis/test'], runs: isRedis, excluded: EXCLUDED_TESTS, server: 'redis' },
  { name: 'kit on PostgreSQL', paths: KIT, runs: isSql, kit: 'postgres', server: 'postgres' },
  {
    name: 'tests of PostgreSQL',
    paths: ['packages/postgres/test'],
    runs: isSql,
    excluded: EXCLUDED_TESTS,
    server: 'postgres',
  },
];

/** Returns the servers that the stages of these files need. */
export function serversFor(files: readonly string[]): ServerName[] {
  const servers = STAGES.filter((it) => files.some(it.runs)).map(({ server }) => server);
  return [...new Set(servers.filter((it) => it !== undefined))];
}

/**
 * The kit's files are kept in memory if possible. Tests of engines examine the disk that they run on, so theirs are
 * not.
 */
const IN_MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** The compile cache of Node, which all processes share. */
const COMPILED = mkdtempSync(join(IN_MEMORY, 'tidemark-compiled-'));
process.on('exit', () => rmSync(COMPILED, { recursive: true, force: true }));

/** Returns the arguments with which Node runs a stage. */
export function argumentsOf({ paths, excluded = [] }: Stage): string[] {
  const exclusions = excluded.flatMap((name) => ['--exclude', `**/${name}.test.ts`]);
  const config = ['--root', '.', '--config', 'scripts/mutants/vitest.config.ts'];
  return ['node_modules/vitest/vitest.mjs', 'run', ...paths, ...config, ...exclusions];
}

export function environmentOf({ kit }: Stage): Record<string, string | undefined> {
  const servers = (['redis', 'postgres'] as const).filter((name) => offeredUrl(name) !== undefined);
  return {
    ...process.env,
    TIDEMARK_TEST_BACKENDS: ['memory', 'sqlite', ...servers].join(),
    NODE_COMPILE_CACHE: COMPILED,
    ...(kit === undefined ? {} : { TIDEMARK_MUTANT_KIT: kit, TMPDIR: IN_MEMORY }),
  };
}
