/** Rows whose columns changed their type, as a single flipped bit in the header of a SQLite row can cause. */
import { expect, it } from 'vitest';
import { type FieldRow, gatherRecords } from '../src/records/rows.ts';
import { recordStart, recordSum } from '../src/records/sums.ts';

const value = Buffer.from('value');
const sum = recordSum(recordStart('t', 'k'), { fields: new Map([['f', value]]), revision: 1, expiresAt: null });
const row: FieldRow = { key: 'k', revision: 1, expires_at: null, sum, now: 5, field: 'f', value };
const bytes = (text: string) => Buffer.from(text) as unknown as string;

it('are records while all types are right', () => {
  expect(gatherRecords('t', [row])).toMatchObject([{ key: 'k', revision: 1 }]);
  expect(gatherRecords('t', [row])[0]!.damaged).toBeUndefined();
});

it.each([
  ['a field name', { field: bytes('f') }],
  ['a key', { key: bytes('k') }],
  ['a value', { value: 7 as unknown as Uint8Array }],
])('are damaged when %s has another type', (_, changes) => {
  expect(gatherRecords('t', [{ ...row, ...changes }])).toMatchObject([{ damaged: true }]);
});
