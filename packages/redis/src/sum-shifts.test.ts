import { assert, integer, property, string, uint8Array } from 'fast-check';
import { expect, it } from 'vitest';
import { recordStart, sumOfField } from './record-sums.ts';
import { sumShift } from './sum-shifts.ts';

/** Computes a checksum from a stored one as `claim-first.lua` does. */
function shifted(stored: string, { table, constant }: ReturnType<typeof sumShift>): string {
  const results = Buffer.from(table, 'latin1');
  const sum = Number.parseInt(stored, 36);
  let result = constant;
  for (let part = 0; part < 8; part++) result ^= results.readInt32LE((part * 16 + ((sum >>> (4 * part)) & 15)) * 4);
  return (result >>> 0).toString(36);
}

it('computes the checksum of a field from that of another one under the same key', () => {
  const value = uint8Array({ maxLength: 80 });
  const name = (size: number) => 'abcdefghijklmnopqrst'.slice(0, size);
  assert(
    property(string({ unit: 'binary' }), value, value, integer({ min: 1, max: 20 }), (key, before, after, size) => {
      const start = recordStart({ space: 'kv', tenantId: 'default', key });
      const shift = sumShift(['state', before], [name(size), after]);
      expect(shifted(sumOfField(start, 'state', before), shift)).toBe(sumOfField(start, name(size), after));
    }),
    { numRuns: 500 },
  );
});
