/** Reading part of an artifact: exactly the requested bytes, from the chunks that contain them (AGT-11). */
import type { ArtifactStore, ReadArtifactOptions } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, expectField } from '../agents/samples.ts';
import { all } from '../iterate.ts';
import { bytesOf, sameBytes } from './samples.ts';

const artifacts = casesOf('artifacts', 'artifacts');

const CHUNK = 256 * 1024;
const SIZE = 3 * CHUNK + 1_000;

/** Ranges at, before and after the borders of chunks and of the artifact. */
const PARTS: readonly Pick<ReadArtifactOptions, 'start' | 'end'>[] = [
  {},
  { start: 0, end: 1 },
  { start: CHUNK - 1, end: CHUNK },
  { start: CHUNK - 1, end: CHUNK + 1 },
  { start: CHUNK, end: 2 * CHUNK },
  { start: 2 * CHUNK + 5 },
  { start: 3 * CHUNK },
  { start: 10, end: 3 * CHUNK + 10 },
  { end: CHUNK + 7 },
  { start: SIZE - 1 },
  { start: 1, end: SIZE + 10 },
  { start: 0, end: SIZE },
  { start: 7, end: 7 },
  { start: 0, end: 0 },
  { start: SIZE },
  { start: SIZE + CHUNK, end: SIZE + 2 * CHUNK },
];

/** Expects that every part of an artifact is exactly the bytes from `start` to `end`. */
export async function expectParts(store: ArtifactStore, size = SIZE): Promise<void> {
  const bytes = bytesOf(size, 5);
  const { id } = await store.putBytes(bytes, { ttl: null });
  for (const part of PARTS) {
    const stream = await store.getStream(id, part);
    expect(stream, `${JSON.stringify(part)} of a stored artifact is a stream`);
    const read = Buffer.concat(await all(stream));
    expect(sameBytes(read, bytes.slice(part.start, part.end)), `${JSON.stringify(part)} has exactly these bytes`);
  }
}

export const PART_CASES: ConformanceCase[] = [
  artifacts({
    id: 'artifacts/parts-come-back',
    title: 'A part of an artifact has exactly the bytes from start to end',
    proves: ['AGT-11'],
    async run(bench) {
      await expectParts(bench.tenant.artifacts);
      await expectParts(bench.tenant.artifacts, 20);
      await expectParts(bench.tenant.artifacts, 0);
    },
  }),

  artifacts({
    id: 'artifacts/parts-keep-to-their-scope',
    title: 'A part is read only within the scope of its artifact, and a bad range is rejected by name',
    proves: ['AGT-11', 'GEN-1'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const own = { scope: { sessionId: 'own' } };
      const { id } = await store.putBytes(bytesOf(100), own);
      const other = { scope: { sessionId: 'other' } };
      for (const part of [{ start: 1, end: 2 }, { start: 7, end: 7 }, { start: 500 }]) {
        expectEqual(await store.getStream(id, { ...other, ...part }), null, 'another session reads no part');
        expectEqual(await store.getStream('unknown', part), null, 'an unknown artifact has no parts');
        expect(await store.getStream(id, { ...own, ...part }), 'its own session reads it');
      }
      const bad: [keyof ReadArtifactOptions, ReadArtifactOptions][] = [
        ['start', { start: -1 }],
        ['start', { start: 1.5 }],
        ['start', { start: '1' as never }],
        ['end', { end: -1 }],
        ['end', { start: 5, end: 4 }],
        ['end', { end: Number.NaN }],
      ];
      for (const [field, range] of bad) {
        const error = await expectCode('INVALID_ARGUMENT', `${JSON.stringify(range)} is refused`, () =>
          store.getStream(id, { ...own, ...range }),
        );
        expectField(error, field);
      }
    },
  }),
];
