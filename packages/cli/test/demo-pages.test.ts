/** Every example of docs/cli.md, and every command on the other pages, works on the demo, which a reader has. */
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'tidemark';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasServers, withRealAddresses } from '../../../scripts/pages/addresses.ts';
import { blocksOf } from '../../../scripts/pages/blocks.ts';
import { readersPages } from '../../../scripts/pages/executed.ts';
import { commands } from '../src/commands/index.ts';
import { fillDemo } from '../src/demo/fill.ts';
import { tidemark, words } from './command-line.ts';
import { writeExampleFiles } from './sample.ts';

const SLOW = { timeout: 120_000 };
/** Commands on pages that this test does not run, with the reason. Each must occur on a page. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm test': 'runs this test',
  'npm ci': 'sets up the clone that the tests run in',
  'docker ': 'needs an engine; scripts/containers/containers.test.ts checks the files and runs the steps of the image',
  'npm install': 'scripts/install/install.test.ts installs the packed packages',
  'npm start': 'packages/cli/test/start.test.ts starts it',
  'npm run fixtures': 'is a step of a release',
  'npx tidemark ': 'scripts/install/install.test.ts runs it in an empty project',
  'npx tidemark-conformance': 'packages/conformance/src/processes.test.ts starts it',
  'esbuild ': 'scripts/install/install.test.ts bundles a program',
  'redis-cli ': 'shows the keys, which packages/redis/test/layout.test.ts compares',
  'curl ': 'packages/server/test/http.test.ts sends the same request',
};
/**
 * Commands that end with another exit code than 0 here: no run of the demo is damaged, the folder has a key, and all
 * tenants are on one server (`placement.test.ts` runs these commands on two).
 */
const ENDS_WITH: Readonly<Record<string, number>> = {
  'tidemark quarantine release order-42': 3,
  'tidemark checkpoint keygen checkpoint.key': 2,
  'tidemark tenants servers': 1,
  'tidemark tenants move acme north': 1,
};
const ROOT = join(import.meta.dirname, '../../..');
const PAGES = readersPages(ROOT).filter((path) => path !== 'docs/cli.md');
const LINES = PAGES.flatMap((path) =>
  blocksOf(readFileSync(join(ROOT, path), 'utf8'))
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code, line }) => linesOf(code).map((command) => ({ at: `${path}:${line}`, command }))),
);
const home = process.cwd();
let root: string;
/** A copy of the demo that no command has changed. */
let fresh: string | undefined;
let copies = 0;
/** The value of `$ARTIFACT` in the examples. */
let artifact: string;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-demo-pages-')));
  const directory = join(root, 'demo');
  await fillDemo(`sqlite:${directory}/.tidemark/state.db`);
  await using store = await open(`sqlite:${directory}/.tidemark/state.db`);
  artifact = (await store.artifacts.list({ sessionId: 'session-1' })).items[0]!.id;
  await writeExampleFiles(store, directory);
}, 120_000);
afterAll(() => {
  process.chdir(home);
  rmSync(root, { recursive: true });
});

function freshCopy(): string {
  if (fresh === undefined) {
    fresh = join(root, `copy-${++copies}`);
    cpSync(join(root, 'demo'), fresh, { recursive: true });
  }
  return fresh;
}

describe.each(commands.map((command) => [command.name, command] as const))('tidemark %s', SLOW, (_, command) => {
  it.each(command.examples.map((example) => [example.line, example] as const))('%s', async (_line, example) => {
    process.chdir(freshCopy());
    if (command.effect !== 'ro') fresh = undefined;
    const { line, input, exit } = example;
    const { code, stderr } = await tidemark(words(line, { ARTIFACT: artifact }), input === undefined ? {} : { input });
    expect(code, stderr).toBe(exit ?? 0);
  });
});

/** Returns the commands of a block, without comments and with continued lines joined. */
function linesOf(code: string): string[] {
  return code
    .replaceAll(/\\\n */g, '')
    .split('\n')
    .map((line) => line.replace(/(?:^| +)# .*$/, '').trim())
    .filter((line) => line !== '');
}

describe('a page', SLOW, () => {
  // Commands on a bucket need an S3 server; packages/s3/test runs them. Commands on Snowflake need an account;
  // sink.test.ts runs them on a fake.
  const own = LINES.filter(
    ({ command }) => command.startsWith('tidemark ') && !/s3:\/\/|--account /.test(command) && hasServers(command),
  );
  it.each(own.map(({ at, command }) => [at, command]))('%s: %s', async (_, command) => {
    process.chdir(freshCopy());
    fresh = undefined;
    const line = withRealAddresses(command!)
      .slice('tidemark '.length)
      .replace(/ > \S+$/, '')
      // A server runs until it is stopped, and its usual port may be in use.
      .replace(/^serve(?!.* --for )/, 'serve --port 0 --for 200ms');
    const { code, stderr } = await tidemark(words(line, { ARTIFACT: artifact }));
    expect(code, stderr).toBe(ENDS_WITH[command!] ?? 0);
  });

  it('has no other commands than those that other tests run', () => {
    const others = LINES.filter(({ command }) => !command.startsWith('tidemark '));
    const prefixes = Object.keys(NOT_RUN);
    expect(others.filter(({ command }) => !prefixes.some((it) => command.startsWith(it)))).toEqual([]);
    expect(prefixes.filter((it) => !others.some(({ command }) => command.startsWith(it)))).toEqual([]);
    const named = Object.values(NOT_RUN).flatMap((reason) => reason.match(/\S+\.test\.ts/g) ?? []);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});
