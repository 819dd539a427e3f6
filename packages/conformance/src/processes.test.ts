/** Runs the kit outside vitest: under node:test and on the command line, in separate processes. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_CASES } from './cases/index.ts';
import { runCommand } from './command.ts';
import type { ConformanceReport } from './suite.ts';

const CLI = fileURLToPath(new URL('./cli.ts', import.meta.url));
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-conformance-'));
  await symlink(MODULES, join(folder, 'node_modules'));
});

afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return name;
}

/** Runs node on the sources, without vitest's own settings. */
function node(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const child = spawn(process.execPath, ['--conditions=tidemark-source', ...args], { cwd: folder, env });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...output })));
}

const HEALTHY = `import { memoryStore } from '@tidemark/core';
export const createStore = async () => memoryStore();
export const notAFactory = 7;
`;
const BROKEN = `import { memoryStore } from '@tidemark/core';
export function createStore() {
  const store = memoryStore();
  return new Proxy(store, { get: (it, name) => (name === 'close' ? async () => {} : Reflect.get(it, name, it)) });
}
`;

describe('under node:test', () => {
  it('passes the general cases on the memory store and shows each skipped case with its missing capability', {
    timeout: 120_000,
  }, async () => {
    const name = await file(
      'kit.test.mjs',
      `import { after, describe, it } from 'node:test';
import { memoryStore } from '@tidemark/core';
import { ALL_CASES, registerConformance } from '@tidemark/conformance';
const cases = ALL_CASES.filter(({ domain }) => domain === 'general');
registerConformance({ describe, it, after }, 'memory', () => memoryStore(), { cases });
`,
    );
    const { code, stdout } = await node('--test', '--test-reporter=tap', name);
    expect(stdout).toMatch(/# fail 0/);
    expect(stdout).toMatch(/# SKIP the store does not declare reopen/);
    expect(code).toBe(0);
  });
});

describe('tidemark-conformance', () => {
  it('exits with 0 and writes a report for a store that conforms', { timeout: 120_000 }, async () => {
    const name = await file('healthy.mjs', HEALTHY);
    const { code, stdout } = await node(CLI, `./${name}#createStore`, '--json', 'report.json', '--concurrency', '8');
    expect(stdout).toContain('Conforms:');
    expect(code).toBe(0);
    const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as ConformanceReport;
    expect(report.totals.failed).toBe(0);
    expect(report.cases.length).toBe(ALL_CASES.length);
  });

  it('exits with 1 and names the broken guarantee for a store that does not conform', async () => {
    const name = await file('broken.mjs', BROKEN);
    const { code, stdout } = await node(CLI, `./${name}#createStore`, '--only', 'general/closed-store-refuses');
    expect(stdout).toContain('✗ general/closed-store-refuses');
    expect(code).toBe(1);
  });

  it('exits with 2 and a message when it cannot run', async () => {
    const { code, stderr } = await node(CLI, './missing.mjs#createStore');
    expect(stderr).toMatch(/There is no module at .*missing\.mjs/);
    expect(code).toBe(2);
  });
});

describe('runCommand', () => {
  it('lists cases without a store', async () => {
    const lines: string[] = [];
    expect(await runCommand(['--list', '--only', 'RUN-4'], (text) => lines.push(text))).toBe(0);
    expect(lines.join('\n')).toContain('runs/duplicate-returns-stored-metadata');
  });

  it('reports usage errors', async () => {
    const module = join(folder, await file('healthy.mjs', HEALTHY));
    const tries: [string[], RegExp][] = [
      [[], /Name one store/],
      [[`${module}#create`], /has no export named create; it exports .*createStore/],
      [[`${module}#notAFactory`], /is not a function/],
      [['no-such-package#createStore'], /Could not load no-such-package/],
      [[`${module}#createStore`, '--only', 'nothing/like/this'], /No case matches/],
      [[`${module}#createStore`, '--seed', 'x'], /seed must be a whole number/],
      [['--nonsense'], /nonsense/],
    ];
    for (const [args, sentence] of tries) await expect(runCommand(args, () => {})).rejects.toThrow(sentence);
  });
});
