/** Which test executes each code block of the pages, and the blocks that no test can execute, each with the reason. */
import { globSync } from 'node:fs';
import type { Block } from './blocks.ts';

/** Returns every page that a reader sees, in order, without the generated API reports. */
export function readersPages(root: string): string[] {
  const patterns = ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'faults/README.md', 'clients/python/README.md'];
  return globSync(patterns, { cwd: root, exclude: (name) => name === 'api' }).sort();
}

/** Pages with programs that `examples/pages.test.ts` type-checks and runs. */
export const PROGRAM_PAGES = [
  'README.md',
  'docs/*.md',
  'docs/{guide,operations,coming-from}/*.md',
  'packages/*/README.md',
];

const TUTORIAL = 'docs/living-runs.md';

/** A test that executes blocks. */
interface Executor {
  test: string;
  executes(path: string, block: Block, before: readonly Block[]): boolean;
}

/** The tests that execute blocks, each derived from the languages and pages that the test reads. */
export const EXECUTORS: readonly Executor[] = [
  {
    test: 'examples/pages.test.ts',
    executes: (path, { language, file }) => isProgram(language) && file === undefined && hasPrograms(path),
  },
  {
    // The output of the program before it.
    test: 'examples/pages.test.ts',
    executes: (path, { language }, before) =>
      language === 'text' &&
      hasPrograms(path) &&
      before.at(-1) !== undefined &&
      (isProgram(before.at(-1)!.language) || before.at(-1)!.language === 'text'),
  },
  {
    test: 'packages/cli/test/demo-pages.test.ts',
    executes: (_, { language }) => language === 'sh',
  },
  {
    test: 'examples/living-runs.test.ts',
    executes: (path, { language, file }) =>
      path === TUTORIAL && (language === 'console' || (language === 'ts' && file !== undefined)),
  },
  {
    test: 'clients/python/tests/test_documentation.py',
    executes: (path, { language }) =>
      language === 'python' && ['docs/python.md', 'clients/python/README.md'].includes(path),
  },
  {
    test: 'packages/postgres/test/page-sql.test.ts',
    executes: (path, { language }) => language === 'sql' && SQL_PAGES.includes(path),
  },
];

/** Pages with SQL for PostgreSQL. */
export const SQL_PAGES: readonly string[] = ['docs/postgres.md', 'docs/coming-from/events-table.md'];

/** Blocks that are not programs, or whose program no test has, by page and first words. */
export const NOT_EXECUTED: Readonly<Record<string, string>> = {
  'ARCHITECTURE.md: runs': 'is a drawing of the layers',
  'docs/decisions/0031-client-tables.md: deleteMemoryState': 'shows an entry of packages/client/src/agents/memory.ts',
  'docs/archive.md: archive/{tenant}': 'shows names of files',
  'docs/encryption.md: { "$tidemark"': 'shows the stored form, which packages/core/src/codec/codec.test.ts compares',
  'docs/export.md: SELECT event_type': 'is for DuckDB; packages/cli/test/export.test.ts reads the files',
  'docs/nats.md: jetstream': 'configures a server; packages/nats/test/servers.ts starts one with these settings',
  'docs/operations/monitoring.md: scrape_configs': 'configures Prometheus',
  'docs/python.md: from tidemark.langgraph': 'needs LangGraph; clients/python/tests/test_langgraph.py uses the saver',
  'docs/redis.md: tidemark:{b07}': 'shows the parts of a key, which packages/redis/test/layout.test.ts compares',
  'docs/redis.md: ACL SETUSER': 'is the login that packages/redis/test/doctor.test.ts uses',
  'docs/snowflake.md: SELECT PLAN_ID': 'is for Snowflake; packages/snowflake/test/views.test.ts queries the same view',
  'docs/snowflake.md: writer A': 'shows a race of Snowflake, which nothing here can run',
};

function isProgram(language: string): boolean {
  return language === 'ts' || language === 'js';
}

function hasPrograms(path: string): boolean {
  return (
    path === 'README.md' ||
    /^docs\/(?:(?:guide|operations|coming-from)\/)?[\w-]+\.md$|^packages\/[\w-]+\/README\.md$/.test(path)
  );
}
