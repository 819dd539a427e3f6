/** The spell check reads comments and not code, and its list of words stays sorted. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ROOT, toolPath } from '../processes.ts';

/** Assembled here, because otherwise the check would find it in this file. */
const TYPO = ['rec', 'ieve'].join('');

describe('the spell check', () => {
  it('reports a typo in a comment, and none in code', () => {
    const { stdout } = spawnSync(
      process.execPath,
      [toolPath('cspell', 'cspell'), 'lint', '--no-progress', '--no-summary', 'stdin://scripts/a.ts'],
      { cwd: ROOT, input: `const ${TYPO} = 1; // To ${TYPO} is \`${TYPO}\`.\n`, encoding: 'utf8' },
    );
    expect(stdout.match(/Unknown word/g)).toHaveLength(1);
    expect(stdout).toContain('scripts/a.ts:1:26');
  });

  it('has a sorted list of lower-case words', () => {
    const words = readFileSync(`${ROOT}/scripts/words/dictionary.txt`, 'utf8').trimEnd().split('\n');
    expect(words).toEqual([...new Set(words.map((word) => word.toLowerCase()))].sort());
  });
});
