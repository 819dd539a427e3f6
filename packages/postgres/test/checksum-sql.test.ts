/** The server computes the same checksums as core, from values that only the server knows. */
import { sumBytes, sumInteger, sumName } from '@tidemark/core/engine';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { integerSum, mappedSum, SumMaps, timeSum, zeroTimeSum } from '../src/checksum-sql.ts';
import { newDatabase, openClient, WITHOUT_POSTGRES } from './databases.ts';

const fieldSum = (start: number, field: string, value: Uint8Array) => sumBytes(value, sumName(field, start));

const starts = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const times = fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 });
const integers = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const fields = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
const values = fc.uint8Array({ maxLength: 200 });

const literal = (table: Int32Array) => `'{${table.join()}}'::int4[]`;

describe.skipIf(WITHOUT_POSTGRES)('the server', () => {
  it('turns the sum over a zero time or integer into that over any other', async () => {
    const client = await openClient(await newDatabase());
    const sql = `SELECT $1::int4 # ${timeSum('$2::int8')}, $3::int4 # ${integerSum('$4::int8', 'revision')},
      $5::int4 # ${integerSum('$4::int8', 'revision before expiry')} # ${integerSum('$2::int8', 'expiry')}`;
    await fc.assert(
      fc.asyncProperty(starts, fields, times, integers, async (start, field, time, revision) => {
        const zero = (expiry: number | null) => sumInteger(expiry, sumInteger(0, start));
        const { rows } = await client.query({
          text: sql,
          values: [zeroTimeSum(start, field), time, zero(null), revision, zero(0)],
          rowMode: 'array',
        });
        expect(rows[0]).toEqual([
          fieldSum(start, field, Buffer.from(String(time))),
          sumInteger(null, sumInteger(revision, start)),
          sumInteger(time, sumInteger(revision, start)),
        ]);
      }),
    );
  });

  it('derives the sum of a field from that of another field of the same record', async () => {
    const client = await openClient(await newDatabase());
    await fc.assert(
      fc.asyncProperty(starts, fields, values, fields, values, async (start, field, value, other, otherValue) => {
        const maps = new SumMaps({ field, value });
        const to = { field: other, value: otherValue };
        const table = maps.tableFor(to);
        const revision = maps.toRevision();
        const sql = `SELECT ${mappedSum('$1::int4', '$2::int4[]', '0')} # $3::int4,
          ${mappedSum('$1::int4', literal(revision.table), '0')} # $4::int4`;
        const { rows } = await client.query({
          text: sql,
          values: [fieldSum(start, field, value), [...table], maps.constantFor(to, table), revision.constant],
          rowMode: 'array',
        });
        expect(rows[0]).toEqual([fieldSum(start, other, otherValue), sumInteger(null, sumInteger(0, start))]);
      }),
      { numRuns: 50 },
    );
  });
});
