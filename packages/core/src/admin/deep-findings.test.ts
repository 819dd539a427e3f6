/** The doctor's message about damaged values: it names the first ones and counts all. */
import { expect, it } from 'vitest';
import type { DamagedValue } from '../contracts/admin.ts';
import { damageFinding, unsummedFinding } from './deep-findings.ts';

const damaged = (name: string): DamagedValue => ({ tenantId: 't', part: 'kv', name, reason: 'x' });

it('names damaged values, and marks a list that is cut off', () => {
  const first = [damaged('a'), damaged('b')];
  const message = (count: number) => damageFinding({ checked: 9, damaged: count }, first).message;
  expect(message(2)).toBe('2 of 9 values are damaged: kv t / a, kv t / b');
  expect(message(3)).toBe('3 of 9 values are damaged: kv t / a, kv t / b, …');
});

it('reports nothing about checksums when every value has one', () => {
  expect(damageFinding({ checked: 9, damaged: 0 }, []).status).toBe('ok');
  expect(unsummedFinding(0)).toEqual([]);
  expect(unsummedFinding(1)).toMatchObject([{ check: 'checksums', status: 'warn' }]);
});
