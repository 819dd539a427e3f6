/** Runs every example as a separate process in an empty directory. `pages.test.ts` runs the programs of the pages. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const here = import.meta.dirname;
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-examples-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function run(file: string, ...args: string[]): string {
  const flags = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning'];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, file, ...args], {
    cwd: directory,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}

const ORDER_OUTPUT = "1 RunStarted { by: 'ada' }\n2 StepStarted {}\n3 StepCompleted { cents: 1299 }\nRUNNING\n";

const JOBS_OUTPUT = `unlucky holds welcome-bob
welcome-ada completed, sent:welcome-ada, sent back never
welcome-bob completed, sent:welcome-bob, sent back once
the first holder comes back: CLAIM_LOST
`;

describe('examples', () => {
  it('stores an order in a file, and stores it once when run twice', () => {
    expect(run(join(here, 'order.ts'), 'sqlite:orders.db')).toBe(ORDER_OUTPUT);
    expect(run(join(here, 'order.ts'), 'sqlite:orders.db')).toBe(ORDER_OUTPUT);
  });

  it('reads keys and values in the style of Level', () => {
    const output =
      "[ 'banana', 'cherry' ]\n[ [ 'date', 'DATE' ], [ 'cherry', 'CHERRY' ] ]\n[ 'apple', 'date' ] DATE undefined\n";
    expect(run(join(here, 'level-style.ts'))).toBe(output);
    expect(run(join(here, 'level-style.ts'), 'sqlite:level.db')).toBe(output);
  });

  it('runs from plain JavaScript', () => {
    expect(run(join(here, 'plain.js'))).toBe('visit number 1\n');
    expect(run(join(here, 'plain.js'))).toBe('visit number 2\n');
  });

  it('completes jobs, one of them after its first worker has died', () => {
    expect(run(join(here, 'jobs.ts'))).toBe(JOBS_OUTPUT);
    expect(run(join(here, 'jobs.ts'), 'sqlite:jobs.db')).toBe(JOBS_OUTPUT);
    const page = readFileSync(join(here, '../docs/jobs.md'), 'utf8');
    expect(page).toContain(readFileSync(join(here, 'jobs.ts'), 'utf8').split('\n').slice(1).join('\n'));
    expect(page).toContain(JOBS_OUTPUT);
  });

  it('runs the tour', () => {
    const tour = run(join(here, 'tour.ts'), 'tour.db');
    expect(tour).toContain('sent twice, stored once: sequence 5 and 5, idempotent: true');
    expect(tour).toContain('after event 3 charge was FAILED, now it is SUCCESS');
    expect(tour).toContain('1 wins');
    expect(tour).toContain('1 gets the state');
  });
});
