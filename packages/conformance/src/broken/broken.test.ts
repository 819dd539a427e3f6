/** Tests the kit itself: each broken store fails the case for its fault, and a healthy store passes it. */
import { describe, expect, it } from 'vitest';
import { ALL_CASES } from '../cases/index.ts';
import { runConformance } from '../suite.ts';
import { BROKEN_STORES } from './index.ts';
import { healthy } from './wrap.ts';

describe('broken stores', () => {
  it('have unique names', () => {
    const names = BROKEN_STORES.map((it) => it.name);
    expect(new Set(names).size).toBe(names.length);
  });

  for (const { name, fault, caughtBy, create } of BROKEN_STORES) {
    it(`${caughtBy} catches ${name}: a store that ${fault}`, async () => {
      const cases = ALL_CASES.filter((testCase) => testCase.id === caughtBy);
      expect(cases, `there is a case ${caughtBy}`).toHaveLength(1);
      const broken = await runConformance(create, { cases, seed: 7 });
      expect(broken.cases[0], 'the broken store fails').toMatchObject({ status: 'failed' });
      expect(broken.cases[0]?.error, 'because of its results, not because it hung').not.toContain('did not end within');
      const sound = await runConformance(() => healthy(), { cases, seed: 7 });
      expect(sound.cases[0], 'the healthy store passes').toMatchObject({ status: 'passed' });
    });
  }
});
