/** Command declarations: unique names, help, documentation, and dry runs that write nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commands, GROUPS } from '../src/commands/index.ts';
import { renderCommandsPage } from '../src/commands-page.ts';
import { tidemark, words } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';
import { contentsOf } from './store-contents.ts';

const home = process.cwd();
let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
afterEach(() => process.chdir(home));
afterAll(() => sample.remove());

describe('declarations', () => {
  it('have unique names, and a summary for every group', () => {
    const names = commands.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const nouns = names.filter((name) => name.includes(' ')).map((name) => name.split(' ')[0]!);
    for (const noun of nouns) expect(Object.keys(GROUPS), noun).toContain(noun);
  });

  it('match docs/cli.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8');
    expect(page === renderCommandsPage(), 'docs/cli.md is out of date: run npm run docs').toBe(true);
  });

  it('are listed as JSON with effect and examples', async () => {
    const { stdout } = await tidemark('commands --json');
    const listed = JSON.parse(stdout) as { name: string; effect: string; examples: string[] }[];
    expect(listed.map(({ name }) => name)).toEqual(commands.map(({ name }) => name));
    expect(listed.find(({ name }) => name === 'runs delete')).toMatchObject({ effect: 'destructive' });
  });

  it.each(commands.map(({ name }) => name))('include help with examples for `%s`', async (name) => {
    const { code, stdout, stderr } = await tidemark([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('Examples:');
    expect(stderr).toBe('');
  });
});

const writing = commands
  .filter(({ effect }) => effect !== 'ro')
  .flatMap((command) => command.examples.map((example) => [example.line, example] as const));

describe('a dry run', () => {
  it.each(writing)('writes nothing: %s', async (line, { input }) => {
    const directory = sample.copy();
    process.chdir(directory);
    const file = join(directory, '.tidemark/state.db');
    const contexts = () => readFileSync(join(directory, 'config/tidemark/contexts.json'), 'utf8');
    const before = [contentsOf(file), contexts()];
    const dry = [...words(line, { ARTIFACT: sample.artifact }).filter((it) => it !== '--yes'), '--dry-run'];
    await tidemark(dry, input === undefined ? {} : { input });
    expect([contentsOf(file), contexts()]).toEqual(before);
  });

  it('differs from a real run, which does write', async () => {
    const directory = sample.copy();
    process.chdir(directory);
    const file = join(directory, '.tidemark/state.db');
    const before = contentsOf(file);
    await tidemark('kv put config.limits max=11');
    expect(contentsOf(file)).not.toBe(before);
  });
});

describe('--read-only', () => {
  it.each(writing)('rejects: %s', async (line, { input }) => {
    process.chdir(sample.directory);
    const { code, stderr } = await tidemark(
      words(line).filter((it) => it !== '--dry-run'),
      {
        ...(input === undefined ? {} : { input }),
        env: { TIDEMARK_READ_ONLY: '1' },
      },
    );
    expect(stderr).toContain('--read-only');
    expect(code).toBe(4);
  });
});
