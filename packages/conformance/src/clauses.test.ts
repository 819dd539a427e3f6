/** Checks that every clause is proved and that cases refer only to existing clauses. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALL_CASES } from './cases/index.ts';
import { CLAUSES } from './clauses.ts';
import { renderClausesPage } from './clauses-page.ts';

const ROOT = join(import.meta.dirname, '../../..');

describe('clauses', () => {
  const known = new Set(CLAUSES.map((clause) => clause.id));
  const proven = new Set(ALL_CASES.flatMap((testCase) => testCase.proves));

  it('are each proved by a case or name the files that prove them', () => {
    const forgotten = CLAUSES.filter((clause) => clause.elsewhere === undefined && !proven.has(clause.id));
    expect(forgotten.map((clause) => `${clause.id}: ${clause.says}`)).toEqual([]);
  });

  it('are known when a case names them', () => {
    const unknown = ALL_CASES.flatMap((testCase) =>
      testCase.proves.filter((id) => !known.has(id)).map((id) => `${testCase.id}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });

  it('are not referred to by a case if files prove the whole section', () => {
    const elsewhere = [...proven].filter((id) =>
      CLAUSES.filter((clause) => clause.id === id).every((clause) => clause.elsewhere !== undefined),
    );
    expect(elsewhere).toEqual([]);
  });

  it('name existing files when no case proves them', () => {
    for (const { id, says, elsewhere } of CLAUSES) {
      if (elsewhere === undefined) continue;
      const files = [...elsewhere.matchAll(/`([^`]+)`/g)].map(([, file]) => file!);
      expect(files.length, `${id}: ${says}`).toBeGreaterThan(0);
      for (const file of files) expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    }
  });

  it('are all on the generated page', () => {
    const page = renderClausesPage();
    for (const { says } of CLAUSES) expect(page).toContain(says.replaceAll('|', '\\|'));
  });
});

describe('cases', () => {
  it('have unique ids that start with their domain or with model', () => {
    const ids = ALL_CASES.map((testCase) => testCase.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, domain } of ALL_CASES) expect([domain, 'model']).toContain(id.split('/')[0]);
  });

  it('each prove something', () => {
    expect(ALL_CASES.filter((testCase) => testCase.proves.length === 0)).toEqual([]);
  });
});
