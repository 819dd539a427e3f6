/** Arrays in the server's binary format arrive unchanged. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { BinaryArray, type ElementType } from '../src/binary-arrays.ts';

const client = new pg.Client({ connectionString: offeredUrl('postgres') });
beforeAll(() => client.connect());
afterAll(() => client.end());

async function received(type: ElementType, values: readonly (string | number | null)[]): Promise<unknown> {
  const array = new BinaryArray(type);
  for (const value of values) array.push(value);
  const { rows } = await client.query(`SELECT $1::${type}[]::text[] AS values`, [array.finish()]);
  return rows[0].values;
}

describe('a binary array', () => {
  test('may be empty', async () => {
    expect(await received('text', [])).toEqual([]);
  });

  test('carries text of every kind, and nulls', async () => {
    const texts = ['', '"', '\\', '{,}', 'NULL', null, 'naïve 🌊 漢字', 'x'.repeat(100_000)];
    expect(await received('text', texts)).toEqual(texts);
  });

  test('carries JSON unchanged', async () => {
    expect(await received('json', ['{"b": 1,  "a": "\\u0000"}', null])).toEqual(['{"b": 1,  "a": "\\u0000"}', null]);
  });

  test('carries integers up to 2^53', async () => {
    expect(await received('int4', [0, -1, 2_147_483_647])).toEqual(['0', '-1', '2147483647']);
    expect(await received('int8', [0, Number.MAX_SAFE_INTEGER])).toEqual(['0', '9007199254740991']);
  });

  test('carries digests byte for byte', async () => {
    expect(await received('bytea', ['\0\xff\x80a'])).toEqual(['\\x00ff8061']);
  });
});
