/** Every regular expression of the packages takes about linear time on texts that stress it. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collectPatterns } from './collect.ts';
import { worseThanLinear } from './growth.ts';

const LIMIT_MS = 300_000;

/** Patterns that are built at run time, with the reason why they are not a risk for the server. */
const BUILT = new Set([
  // A user's own filter, in their own browser.
  'packages/inspector/src/runs/log-filter.ts',
  // Stores with deliberate faults, for the tests of the kit.
  'packages/conformance/src/broken/agents-pauses.ts',
  'packages/conformance/src/broken/kv.ts',
]);

describe('regular expressions', () => {
  it('grow about linearly with their input', { timeout: LIMIT_MS }, () => {
    const { literals } = collectPatterns(join(import.meta.dirname, '../..'));
    expect(literals.length).toBeGreaterThan(100);
    const slow = literals.flatMap(({ at, pattern }) => {
      const growth = worseThanLinear(pattern);
      return growth ? [`${at} ${pattern}: ${JSON.stringify(growth)}`] : [];
    });
    expect(slow).toEqual([]);
  });

  it('are literals, so that they can be measured', () => {
    const { built } = collectPatterns(join(import.meta.dirname, '../..'));
    expect(built.filter((file) => !BUILT.has(file))).toEqual([]);
  });

  it.each([
    ['a token with three bounded parts', /\beyJ[\w-]{1,4000}\.[\w-]{0,8000}\.[\w-]{0,4000}/g],
    ['slashes at the end', /\/+$/],
    ['two neighbours that share characters', /^\s*\w*\s*\w*\s*$/],
    ['a group that repeats what repeats', /^(a+)+$/],
    ['strings that never end', /"(?:[^"\\]|\\.)*"/g],
  ])('would be refused: %s', (_, pattern) => {
    expect(worseThanLinear(pattern)).not.toBeNull();
  });
});
