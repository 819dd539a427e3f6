/**
 * `npm run test:matrix -- stranger`: runs everything that a new reader can type. It clones this repository and follows
 * the README, then runs every code block of every page, every example of the command line, of the HTTP routes and of
 * the API reference, and installs the packages.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXECUTORS } from '../pages/executed.ts';
import { ROOT, runQuietly, runVisibly, whileServing } from '../processes.ts';
import { runsTenLines } from './checks.ts';
import { PATH_WITH_NODE, tenLines } from './project.ts';

/** The tests that run what the pages show. The tests of code blocks are derived from the pages. */
export const STRANGERS_TESTS: readonly string[] = [
  ...new Set([
    'scripts/pages/executed.test.ts',
    ...EXECUTORS.map(({ test }) => (test.endsWith('.py') ? 'packages/server/test/python-client.test.ts' : test)),
    'packages/cli/test/examples.test.ts',
    'packages/cli/test/start.test.ts',
    'packages/server/test/route-examples.test.ts',
    'examples/tsdoc-examples.test.ts',
    'scripts/install/install.test.ts',
    'scripts/containers/containers.test.ts',
    'scripts/site/site.test.ts',
  ]),
];

const ENV = { ...process.env, PATH: PATH_WITH_NODE, NODE_OPTIONS: '' };

async function runs(directory: string, program: string, ...args: string[]): Promise<string> {
  const { code, output } = await runQuietly(program, args, { cwd: directory, env: ENV });
  if (code !== 0) throw new Error(`${[program, ...args].join(' ')} ended with ${code}: ${output.slice(-2_000)}`);
  return output;
}

/** Follows the README in a fresh clone: install, start, the ten lines, the command line and a benchmark. */
async function followReadme(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-clone-'));
  try {
    await runs(ROOT, 'git', 'clone', '--quiet', '--no-local', ROOT, directory);
    await runs(directory, 'npm', 'ci', '--prefer-offline');
    await runs(directory, 'npm', 'run', 'bench', '--', 'memory', '--quick');
    // The script behind `npm start`: on SIGTERM npm exits without stopping its script.
    const script = ['scripts/run.js', 'start', '--port', '0'];
    await whileServing(process.execPath, script, { cwd: directory, env: ENV }, async (address) => {
      const page = await (await fetch(address)).text();
      if (!page.includes('<script')) throw new Error('npm start serves no inspector');
    });
    writeFileSync(join(directory, 'ten.mjs'), tenLines().program);
    await runsTenLines({ title: 'this Node', program: process.execPath, args: [] }, directory);
    const listed = await runs(directory, 'npm', 'run', '--silent', 'tidemark', '--', 'runs', 'list', '--json');
    if (!listed.includes('"order-42"')) throw new Error(`npm run tidemark printed ${listed}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the number of failed parts. */
export async function followStranger(): Promise<number> {
  let failures = 0;
  try {
    await followReadme();
    console.log('ok      the README in a fresh clone');
  } catch (error) {
    failures += 1;
    console.log(`FAILED  the README in a fresh clone: ${(error as Error).message}`);
  }
  const code = await runVisibly(process.execPath, [join(ROOT, 'scripts/run.js'), 'test', ...STRANGERS_TESTS]);
  if (code !== 0) failures += 1;
  console.log(`${failures} failures`);
  return failures;
}
