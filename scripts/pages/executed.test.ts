/** Every code block of every page is executed by a test, or is listed with the reason why not. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { STRANGERS_TESTS } from '../install/stranger.ts';
import { ROOT } from '../processes.ts';
import { blocksOf } from './blocks.ts';
import { EXECUTORS, NOT_EXECUTED, PROGRAM_PAGES, readersPages } from './executed.ts';

const blocks = readersPages(ROOT).flatMap((path) => {
  const all = blocksOf(readFileSync(join(ROOT, path), 'utf8'));
  return all.map((block, at) => ({ path, block, before: all.slice(0, at) }));
});
const executors = blocks.map(({ path, block, before }) => EXECUTORS.filter((it) => it.executes(path, block, before)));

/** Returns the entries of the list that match a block. */
function listed({ path, block }: (typeof blocks)[number]): string[] {
  return Object.keys(NOT_EXECUTED).filter((key) => {
    const [page, ...start] = key.split(': ');
    return page === path && block.code.trimStart().startsWith(start.join(': '));
  });
}

it('each block of each page is executed or listed, and not both', () => {
  const wrong = blocks.filter((it, at) => executors[at]!.length + listed(it).length !== 1);
  expect(wrong.map(({ path, block }) => `${path}:${block.line} ${block.language}`)).toEqual([]);
  expect(blocks.length).toBeGreaterThan(200);
});

it('each listed block exists', () => {
  const used = new Set(blocks.flatMap(listed));
  expect(Object.keys(NOT_EXECUTED).filter((key) => !used.has(key))).toEqual([]);
});

it('each named test exists and executes a block', () => {
  const named = Object.values(NOT_EXECUTED).flatMap((reason) => reason.match(/\S+\.(?:py|ts)\b/g) ?? []);
  for (const test of [...named, ...EXECUTORS.map((it) => it.test), ...STRANGERS_TESTS])
    expect(existsSync(join(ROOT, test)), test).toBe(true);
  for (const executor of EXECUTORS)
    expect(
      executors.some((all) => all.includes(executor)),
      executor.test,
    ).toBe(true);
});

it('pages.test.ts reads each page with a program', () => {
  const read = globSync(PROGRAM_PAGES, { cwd: ROOT });
  const programs = blocks.filter((_, at) => executors[at]!.some(({ test }) => test === 'examples/pages.test.ts'));
  expect(programs.map(({ path }) => path).filter((path) => !read.includes(path))).toEqual([]);
});
