/** Runs every example of every command on the sample store, directly and over HTTP. */
import { createServer } from '@tidemark/server';
import { open } from 'tidemark';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Command, Example } from '../src/command.ts';
import { commands } from '../src/commands/index.ts';
import { tidemark, words } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';

const home = process.cwd();
let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
afterEach(() => process.chdir(home));
afterAll(() => sample.remove());

async function expectExample({ line, input, exit, shows }: Example, env: Record<string, string> = {}): Promise<void> {
  const { code, stdout, stderr } = await tidemark(words(line, { ARTIFACT: sample.artifact }), {
    ...(input === undefined ? {} : { input }),
    env,
  });
  expect(code, stderr).toBe(exit ?? 0);
  expect(stdout + stderr).toContain(shows);
}

/** The demo writes 27 000 events, which takes a while on a busy machine. */
const SLOW = { timeout: 120_000 };

const named = (all: readonly Command[]) => all.map((command) => [command.name, command] as const);

describe.each(named(commands))('tidemark %s', SLOW, (_name, command) => {
  it.each(command.examples.map((example) => [example.line, example] as const))('%s', async (_line, example) => {
    process.chdir(sample.copy());
    await expectExample(example);
  });
});

/** Commands that work on local files, this machine or the command line itself. */
const LOCAL = ['backup', 'migrate', 'context', 'commands', 'completion', 'conformance', 'demo', 'serve', 'ui', 'keys'];
const remote = commands.filter(({ name }) => !LOCAL.includes(name.split(' ')[0]!));

describe.each(named(remote))('over HTTP: tidemark %s', (_name, command) => {
  it.each(command.examples.map((example) => [example.line, example] as const))('%s', async (_line, example) => {
    process.chdir(sample.copy());
    await using store = await open('sqlite:./.tidemark/state.db');
    const server = createServer({ store, logger: { info() {}, error() {} } });
    try {
      await expectExample(example, { TIDEMARK_STORE: await server.listen() });
    } finally {
      await server.close();
    }
  });
});
