/** Type-checks every program in the documentation, runs it in an empty directory and compares its output with the page. */
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasServers, withServers } from '../scripts/pages/addresses.ts';
import { PROGRAM_PAGES } from '../scripts/pages/executed.ts';
import { moduleOfProgram } from '../scripts/pages/module.ts';
import { type Program, programsOf } from '../scripts/pages/programs.ts';
import { ROOT, runQuietly, SOURCE_FLAGS } from '../scripts/processes.ts';
import { createCompiler } from '../scripts/tsdoc/compiler.ts';

const PAGES = globSync(PROGRAM_PAGES, { cwd: ROOT }).sort();
const PROGRAMS = PAGES.flatMap((path) => programsOf(path, readFileSync(join(ROOT, path), 'utf8')));
/**
 * The modules from which programs may use names without importing them. The ones that readers import first come first.
 */
const MODULES = [
  'tidemark',
  'tidemark/codec',
  '@tidemark/runtime',
  '@tidemark/server',
  '@tidemark/client',
  '@tidemark/postgres',
  '@tidemark/sqlite',
  '@tidemark/s3',
];
/** Programs that other tests run, because they need servers or logins that this test does not provide. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'postgres://app:secret@': 'packages/postgres/test/rls.test.ts',
  'registerConformance(': 'packages/conformance/src/memory.test.ts',
  'postgres://one.internal/app': 'packages/postgres/test/placed.test.ts',
  'postgres://db/app': 'packages/s3/test/open.test.ts',
  's3://bucket/prefix': 'packages/tidemark/test/hybrid-aws.test.ts',
  'redis://a:7000,b:7000': 'packages/redis/test/cluster.test.ts',
  'acme-analytics': 'packages/snowflake/test/views.test.ts',
};
const elsewhere = Object.keys(ELSEWHERE);
/** Programs that start servers read `tls.pem` and `tls.key`. */
const CERTIFICATES = join(ROOT, 'scripts/servers/certificates');
const TIMEOUT_MS = 50_000;

/** Runs a module in an empty directory and returns everything it printed. */
async function run(module: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-page-'));
  // Next to the examples, so that imports resolve.
  const file = join(import.meta.dirname, `.page-${crypto.randomUUID()}.ts`);
  const { code, stop } = await withServers(module);
  for (const suffix of ['pem', 'key']) cpSync(join(CERTIFICATES, `server.${suffix}`), join(directory, `tls.${suffix}`));
  writeFileSync(file, code);
  onTestFinished(() => {
    rmSync(file);
    rmSync(directory, { recursive: true });
    return stop();
  });
  const finished = await runQuietly(process.execPath, [...SOURCE_FLAGS, file], { cwd: directory, timeout: TIMEOUT_MS });
  expect(finished.code, finished.output).toBe(0);
  return finished.output;
}

const modules = new Map<Program, string>();
const faults = new Map<Program, string[]>();
beforeAll(() => {
  const compiler = createCompiler(ROOT, MODULES);
  for (const program of PROGRAMS) modules.set(program, moduleOfProgram(program.code, compiler.moduleOf));
  const found = compiler.check(PROGRAMS.map((program) => modules.get(program)!));
  for (const [at, program] of PROGRAMS.entries())
    faults.set(
      program,
      found[at]!.map(({ line, message }) => `line ${line}: ${message}`),
    );
});

describe('the program at', () => {
  for (const program of PROGRAMS.filter(({ code }) => hasServers(code))) {
    it(program.title, async () => {
      expect(faults.get(program)).toEqual([]);
      if (elsewhere.some((text) => program.code.includes(text))) return;
      const output = await run(modules.get(program)!);
      if (program.output !== undefined) expect(output).toBe(program.output);
    });
  }
});

it.each(Object.entries(ELSEWHERE))('a program with %s runs in %s', (text, test) => {
  expect(PROGRAMS.filter(({ code }) => code.includes(text))).toHaveLength(1);
  expect(existsSync(join(ROOT, test))).toBe(true);
});

describe('programs', () => {
  const page = (text: string) => programsOf('page.md', text);

  it('continue over several blocks, with the line numbers of the page', () => {
    const [program, second] = page(
      "# A\n```ts\nimport 'a';\nf(); // x\n```\nand\n```ts\nconsole.log(2); // 2\n```\n```text\n3\n```\n```ts\nimport 'b';\n```\n",
    );
    expect(program).toEqual({
      title: 'page.md:3',
      code: "\n\nimport 'a';\nf(); // x\n\n\n\nconsole.log(2); // 2\n",
      output: '2\n3\n',
    });
    expect(second).toMatchObject({ title: 'page.md:14' });
    expect(second).not.toHaveProperty('output');
  });

  it('leave out the files of tutorials', () => {
    expect(page('```ts orders.ts\nf();\n```\n')).toEqual([]);
  });

  it('get a store and the names of the library', () => {
    const moduleOf = (name: string) => (['open', 'textOf'].includes(name) ? 'tidemark' : undefined);
    expect(moduleOfProgram('await store.kv.get(textOf.open);', moduleOf)).toBe(
      'import { textOf } from "tidemark"; import { open } from "tidemark"; const store = await open(\'memory:\');await store.kv.get(textOf.open);\nexport {};\n',
    );
    expect(moduleOfProgram('const store = { textOf: 1 };', moduleOf)).toBe(
      'const store = { textOf: 1 };\nexport {};\n',
    );
  });

  it('fail with their output', async () => {
    await expect(run("console.log(1); throw new Error('no');\n")).rejects.toThrow('Error: no');
  });
});
