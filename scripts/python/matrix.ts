/**
 * `npm run test:matrix -- python`: the tests of the Python client with the packages that some of them need, in a virtual
 * environment. `npm test` runs the others. With `TIDEMARK_TEST_PYTHON`, uses that interpreter and its packages instead;
 * tests without their package are then skipped and listed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../processes.ts';

const CLIENT = join(ROOT, 'clients/python');
/** Each list is installed in its own environment: the newest versions, and the oldest supported checkpoint package. */
const PACKAGES: Record<string, string[]> = {
  newest: ['langgraph', 'langgraph-checkpoint>=4,<5', 'langgraph-checkpoint-conformance==0.0.2'],
  oldest: ['langgraph-checkpoint==3.0.0'],
};

/** Runs the tests and returns the exit code. */
export function testPython(): number {
  const given = process.env.TIDEMARK_TEST_PYTHON;
  if (given !== undefined) return runTests(given);
  return Math.max(...Object.entries(PACKAGES).map(([title, packages]) => testWith(title, packages)));
}

function testWith(title: string, packages: readonly string[]): number {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-venv-'));
  try {
    console.log(`\n${title}: ${packages.join(', ')}`);
    const python = join(directory, 'bin/python');
    const steps = [
      ['python3', '-m', 'venv', directory],
      [python, '-m', 'pip', 'install', '--quiet', ...packages],
    ];
    for (const [command, ...args] of steps) {
      const { status } = spawnSync(command!, args, { stdio: 'inherit' });
      if (status !== 0) return 1;
    }
    return runTests(python);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function runTests(python: string): number {
  const env = { ...process.env, TIDEMARK_TEST_NODE: process.execPath, PYTHONDONTWRITEBYTECODE: '1' };
  const args = ['-m', 'unittest', '-v', 'tests.test_langgraph', 'tests.test_langgraph_layout'];
  return spawnSync(python, args, { cwd: CLIENT, env, stdio: 'inherit' }).status ?? 1;
}
