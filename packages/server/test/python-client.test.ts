/** Runs the tests of the Python client once, against servers of this repository, and reports each as a test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CLIENT = fileURLToPath(new URL('../../../clients/python', import.meta.url));
const ENVIRONMENT = { ...process.env, TIDEMARK_TEST_NODE: process.execPath, PYTHONDONTWRITEBYTECODE: '1' };
const RUN_MS = 600_000;

interface Result {
  id: string;
  status: 'passed' | 'failed' | 'skipped';
  text: string;
}

function hasPython(): boolean {
  const oldEnough = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']);
  return oldEnough.status === 0;
}

function listTests(): string[] {
  const { stdout, stderr, status } = spawnSync('python3', ['-m', 'tests', 'list'], { cwd: CLIENT, env: ENVIRONMENT });
  if (status !== 0) throw new Error(`The tests of the Python client cannot be listed: ${stderr}`);
  return stdout.toString().trim().split('\n');
}

/** Turns `tests.test_runs.Tails.test_end_when_the_store_is_closed` into a sentence. */
function sentenceOf(id: string): string {
  const [group, name] = id.split('.').slice(-2) as [string, string];
  return `${group} ${name.replace(/^test_/, '').replaceAll('_', ' ')}`;
}

if (hasPython()) {
  describe('The Python client', () => {
    const results = new Map<string, Result>();
    let python: ChildProcess | undefined;
    let complaints = '';

    beforeAll(async () => {
      python = spawn('python3', ['-m', 'tests', 'run'], { cwd: CLIENT, env: ENVIRONMENT });
      const closed = once(python, 'close');
      python.stderr!.on('data', (chunk) => {
        complaints += chunk;
      });
      for await (const line of createInterface(python.stdout!)) {
        const result: Result = JSON.parse(line);
        results.set(result.id, result);
      }
      await closed;
    }, RUN_MS);

    afterAll(() => {
      python?.kill();
    });

    for (const id of listTests()) {
      it(sentenceOf(id), (context) => {
        const result = results.get(id);
        if (result?.status === 'skipped') context.skip(result.text);
        expect(result?.status, result?.text ?? complaints).toBe('passed');
      });
    }
  });
} else {
  describe.skip('The Python client: there is no python3 of version 3.11 or newer here', () => {
    it('passes its own tests', () => {});
  });
}
