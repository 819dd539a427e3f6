/**
 * Writes Parquet files for exports. One row group is encoded at a time, so memory does not grow with the size of the
 * file.
 */
import { constants, zstdCompressSync } from 'node:zlib';
import type { ColumnType, ExportColumn, ExportFormat, ExportRow } from '@tidemark/runtime';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';

/** The number of rows in a row group. Readers skip whole groups, and hold one group at a time. */
const GROUP_ROWS = 20_000;
const GROUP_CHARACTERS = 16 * 1024 * 1024;
const ZSTD_LEVEL = 3;

type Element = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const TYPES: Record<ColumnType, Pick<Element, 'type' | 'converted_type' | 'logical_type'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  // JSON text. Readers that do not support the JSON type read it as text.
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

export const PARQUET: ExportFormat = {
  extension: 'parquet',
  async *encode({ columns }, pages) {
    const bytes = new ByteWriter();
    const writer = new ParquetWriter({ writer: bytes, schema: schemaOf(columns), ...compression() });
    let group: ExportRow[] = [];
    let characters = 0;
    for await (const rows of pages) {
      group.push(...rows);
      for (const row of rows)
        for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length;
      if (group.length < GROUP_ROWS && characters < GROUP_CHARACTERS) continue;
      yield encodeGroup(writer, bytes, columns, group);
      [group, characters] = [[], 0];
    }
    if (group.length > 0) yield encodeGroup(writer, bytes, columns, group);
    await writer.finish();
    yield taken(bytes);
  },
};

function schemaOf(columns: readonly ExportColumn[]): Element[] {
  const fields = columns.map(({ name, type, optional }): Element => {
    return { name, ...TYPES[type], repetition_type: optional ? 'OPTIONAL' : 'REQUIRED' };
  });
  return [{ name: 'root', num_children: columns.length }, ...fields];
}

/** Zstandard if Node supports it (from 22.15), otherwise the library's Snappy. */
function compression(): Pick<ConstructorParameters<typeof ParquetWriter>[0], 'codec' | 'compressors'> {
  if (typeof zstdCompressSync !== 'function') return { codec: 'SNAPPY' };
  const params = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL };
  return { codec: 'ZSTD', compressors: { ZSTD: (input) => zstdCompressSync(input, { params }) } };
}

function encodeGroup(
  writer: ParquetWriter,
  bytes: ByteWriter,
  columns: readonly ExportColumn[],
  rows: readonly ExportRow[],
): Uint8Array {
  const columnData = columns.map(({ name, type }) => {
    const values = rows.map((row) => row[name] ?? null);
    const data = type === 'integer' ? values.map((value) => (value === null ? null : BigInt(value as number))) : values;
    return { name, data: data as unknown[] };
  });
  void writer.write({
    columnData: columnData as Parameters<ParquetWriter['write']>[0]['columnData'],
    rowGroupSize: rows.length,
  });
  return taken(bytes);
}

/** Returns the bytes written so far and empties the buffer. Keeps the offset in the file. */
function taken(bytes: ByteWriter): Uint8Array {
  const content = new Uint8Array(bytes.getBuffer());
  bytes.index = 0;
  return content;
}
