/** Runs the programs of the tutorial docs/living-runs.md and compares their output with the page. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const page = readFileSync(join(import.meta.dirname, '../docs/living-runs.md'), 'utf8');
// Next to the examples, so that imports resolve; the data goes to a temporary directory.
const programs = join(import.meta.dirname, `.living-runs-${process.pid}`);
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-living-runs-'));
  mkdirSync(programs);
  for (const [, name, program] of page.matchAll(/```ts (\S+)\n(.*?)```/gs))
    writeFileSync(join(programs, name!), program!);
});
afterAll(() => {
  rmSync(directory, { recursive: true });
  rmSync(programs, { recursive: true });
});

function run(command: string): string {
  const [, name = '', ...args] = command.split(' ');
  const flags = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning'];
  const { stdout, stderr, signal } = spawnSync(process.execPath, [...flags, join(programs, name), ...args], {
    cwd: directory,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return signal === 'SIGKILL' ? `${stdout}killed\n` : stdout;
}

describe('docs/living-runs.md', () => {
  const commands = [...page.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block]) => block!.split(/^\$ /m).slice(1));

  it('contains these programs and their output', () => {
    expect(commands.length).toBeGreaterThan(5);
  });

  for (const block of commands) {
    const [command = '', ...output] = block.split('\n');
    it(command, () => {
      expect(run(command)).toBe(output.join('\n'));
    });
  }
});
