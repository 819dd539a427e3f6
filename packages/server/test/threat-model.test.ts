/** The threat model cites only tests that exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const TEXT = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8');
const [MODEL = '', ASVS = ''] = TEXT.split('## OWASP ASVS');
const STATES = ['met', 'partly', 'gap', 'operator'];

const ACTORS = [
  'An unauthenticated client',
  "A web page in a user's browser",
  'A client with a read key',
  'A tenant',
  "A tenant's admin",
  'An operator',
  'Another user of the machine',
  'A database writer',
  'A network attacker',
];

/** Returns the table rows of a string, as cells. */
function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---') && !line.startsWith('| |'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe('the threat model', () => {
  it.each(ACTORS)('lists what %s can and cannot do', (actor) => {
    const section = MODEL.split('\n## ').find((it) => it.startsWith(`${actor}\n`)) ?? '';
    expect(new Set(rowsOf(section).map(([kind]) => kind))).toEqual(new Set(['cannot', 'can']));
  });

  it('cites an existing test for each attack that is prevented', () => {
    const rows = rowsOf(MODEL);
    expect(rows.length).toBeGreaterThan(40);
    for (const [kind, what, shown] of rows) {
      const files = [...shown!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!);
      if (kind === 'cannot') expect(files.length, what).toBeGreaterThan(0);
      for (const file of files) expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    }
  });

  it('is linked from SECURITY.md', () => {
    expect(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')).toContain('docs/threat-model.md');
  });
});

describe('the ASVS table', () => {
  it('lists each requirement once, with its state and a reason', () => {
    const rows = rowsOf(ASVS).filter(([first]) => first !== 'requirement');
    const ids = rows.flatMap(([first]) => first!.split(', '));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^\d{1,2}\.\d{1,2}\.\d{1,2}(–\d{1,2}\.\d{1,2}\.\d{1,2})?$/);
    for (const [first, state, reason] of rows) {
      expect(STATES, first).toContain(state);
      expect(reason, first).not.toBe('');
    }
    expect(rows.filter(([, state]) => state === 'gap').length, 'gaps are named').toBeGreaterThan(5);
  });
});
