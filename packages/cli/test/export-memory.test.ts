/** The memory of an export does not depend on the size of the store. `faults/export-memory` exports larger stores. */
import { JSON_LINES } from '@tidemark/runtime';
import { expect, it } from 'vitest';
import { MB, measureExport } from '../../../faults/export-growth.ts';
import { PARQUET } from '../src/parquet.ts';

const [FEW, MANY, ROWS_PER_FILE] = [2_000, 32_000, 2_000];
/** Less than the additional payloads, which take 11 MB as text. */
const MAX_GROWTH = 5 * MB;

it.each([PARQUET, JSON_LINES])(
  'An export as $extension holds no more of a store of sixteen times the size',
  async (format) => {
    const [few, many] = [
      await measureExport(FEW, format, ROWS_PER_FILE),
      await measureExport(MANY, format, ROWS_PER_FILE),
    ];
    expect(many.payloads - few.payloads).toBeGreaterThan(2 * MAX_GROWTH);
    expect(many.bytes - few.bytes).toBeLessThan(MAX_GROWTH);
  },
);
