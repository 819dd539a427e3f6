/** Type-checks every `@example` in the TSDoc of the packages and runs it on a fresh memory store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as client from '@tidemark/client';
import * as slim from '@tidemark/client/slim';
import * as core from '@tidemark/core';
import * as engine from '@tidemark/core/engine';
import * as runtime from '@tidemark/runtime';
import * as server from '@tidemark/server';
import * as scopes from '@tidemark/server/scopes';
import * as sqlite from '@tidemark/sqlite';
import * as tidemark from 'tidemark';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../scripts/processes.ts';
import { type Example, examplesIn, readExamples } from '../scripts/tsdoc/examples.ts';
import { expectedOutput, runExample } from '../scripts/tsdoc/run.ts';
import { generateKeyPairSync, metrics, pino, trace, z } from '../scripts/tsdoc/stand-ins.ts';
import { typeErrors } from '../scripts/tsdoc/types.ts';

const RUNNING = readExamples(ROOT, ['packages/{core,runtime,client,server,sqlite,tidemark}/src/**/*.ts']);
/** Examples that need a database server are only type-checked. */
const CHECKED = readExamples(ROOT, ['packages/{postgres,redis,nats,dynamodb}/src/**/*.ts']);

/** The modules whose exports examples use without an import, in the order in which readers would look for them. */
const MODULES = {
  tidemark,
  '@tidemark/core': core,
  '@tidemark/runtime': runtime,
  '@tidemark/server': server,
  '@tidemark/server/scopes': scopes,
  '@tidemark/client': client,
  '@tidemark/client/slim': slim,
  '@tidemark/sqlite': sqlite,
  '@tidemark/core/engine': engine,
  '../scripts/tsdoc/stand-ins.ts': { generateKeyPairSync, metrics, pino, trace, z },
};
const SERVED_AT = 'http://127.0.0.1:7420';

/** Returns the names that an example may use, with a fresh store. All stores are closed after the test. */
function scopeOf(): Record<string, unknown> {
  const scope: Record<string, unknown> = Object.assign({}, ...Object.values(MODULES).reverse());
  const closing = <Args extends unknown[]>(open: (...args: Args) => core.Store | Promise<core.Store>) => {
    return (...args: Args) => {
      const opened = open(...args);
      onTestFinished(async () => (await opened).close());
      return opened;
    };
  };
  for (const name of ['open', 'memoryStore', 'sqliteStore', 'httpStore'])
    scope[name] = closing(scope[name] as typeof tidemark.open);
  return { ...scope, store: closing(core.memoryStore)() };
}

/** Starts the server that an example connects to, if it does. */
async function served(example: Example): Promise<Example> {
  if (!example.code.includes(SERVED_AT)) return example;
  const running = server.createServer({ store: core.memoryStore(), logger: { info() {}, error() {} } });
  onTestFinished(() => running.close());
  return { ...example, code: example.code.replaceAll(SERVED_AT, await running.listen()) };
}

/** Runs an example in an empty directory and returns the lines that it prints. */
async function run(example: Example): Promise<string[]> {
  const [home, directory] = [process.cwd(), mkdtempSync(join(tmpdir(), 'tidemark-tsdoc-'))];
  process.chdir(directory);
  onTestFinished(() => {
    process.chdir(home);
    rmSync(directory, { recursive: true });
  });
  return runExample(await served(example), scopeOf());
}

/** Returns an example as it is read from a source file. */
function exampleOf(code: string): Example {
  const source = `/**\n * Does nothing.\n *\n * @example\n * ${code}\n *\n * @throws nothing\n */\nexport function f() {}\n`;
  const [example] = examplesIn('f.ts', source);
  return example!;
}

const MISTYPED = exampleOf("async () => store.runs.getSnapshot('order-42', { after: 'x' });");

let errors: Map<Example, string[]>;
beforeAll(() => {
  const servers = ['@tidemark/postgres', '@tidemark/redis', '@tidemark/nats', '@tidemark/dynamodb'];
  errors = typeErrors(ROOT, [...RUNNING, ...CHECKED, MISTYPED], [...Object.keys(MODULES), ...servers]);
});

describe('the example of', () => {
  for (const example of RUNNING) {
    it(example.title, async () => {
      expect(errors.get(example)).toEqual([]);
      const printed = await run(example);
      const expected = expectedOutput(example);
      if (expected.length > 0) expect(printed).toEqual(expected);
    });
  }

  for (const example of CHECKED) {
    it(example.title, () => {
      expect(errors.get(example)).toEqual([]);
    });
  }
});

describe('an example', () => {
  it('is read with its declaration and its line', () => {
    expect(exampleOf('f();')).toEqual({ title: 'f.ts: f', file: 'f.ts', line: 4, code: 'f();' });
  });

  it.each([
    ['throws', "throw new Error('no');", 'no'],
    ['names something undefined', 'missing();', 'missing is not defined'],
    ['fails in the store', "await store.runs.verify('missing');", 'There is no run "missing"'],
  ])('fails if it %s', async (_, code, message) => {
    await expect(run(exampleOf(code))).rejects.toThrow(message);
  });

  it('fails if it prints something else', async () => {
    const example = exampleOf("console.log(memoryKey('acme', 'ada', 's1')); // acme:ada:s2");
    expect(await run(example)).toEqual(['acme:ada:s1']);
    expect(expectedOutput(example)).toEqual(['acme:ada:s2']);
  });

  it('fails if its types are wrong', () => {
    expect(errors.get(MISTYPED)).toEqual([
      expect.stringContaining("f.ts: f, line 5: Object literal may only specify known properties, and 'after'"),
    ]);
  });
});
