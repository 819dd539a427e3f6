/** Artifacts through a codec: bytes of any size, stored together with the same bytes without the codec. */
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { expectParts } from '../artifacts/parts.ts';
import { bytesOf, sameBytes, sha256 } from '../artifacts/samples.ts';
import { newCodec } from './kept-payloads.ts';

const KIB = 1_024;
const SIZES = [0, 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, 700 * KIB];

async function* piecesOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

export const ARTIFACT_CODEC_CASES: readonly ConformanceCase[] = [
  {
    id: 'artifacts/codec-bytes-come-back',
    title: 'Bytes that pass a codec are returned unchanged, and their reference describes the plain bytes',
    domain: 'artifacts',
    proves: ['AGT-11'],
    needs: ['artifacts', 'payloadCodec'],
    async run(bench) {
      const { artifacts } = bench.encoded(newCodec());
      for (const [seed, size] of SIZES.entries()) {
        const bytes = bytesOf(size, seed + 1);
        const source = { from: 'the case', size };
        const ref = await artifacts.putBytes(bytes, { source, ttl: null });
        expectEqual(
          { sha256: ref.sha256, sizeBytes: ref.sizeBytes, source: ref.source },
          { sha256: sha256(bytes), sizeBytes: size, source },
          'the reference describes the plain bytes',
        );
        expectEqual(await artifacts.getRef(ref.id), ref, 'a reference that is read describes the plain bytes');
        expect(sameBytes(await artifacts.get(ref.id), bytes), `${size} bytes are returned`);
        const streamed = await artifacts.putStream(piecesOf(bytes, 100_000), { source, ttl: null });
        expectEqual(streamed.id, ref.id, 'the same bytes as a stream are the same artifact');
        const chunks: Uint8Array[] = [];
        for await (const chunk of (await artifacts.getStream(ref.id))!) chunks.push(new Uint8Array(chunk));
        expect(sameBytes(Buffer.concat(chunks), bytes), `${size} bytes are returned as a stream`);
      }
    },
  },

  {
    id: 'artifacts/codec-parts-come-back',
    title: 'A part of an artifact that passed a codec has exactly the bytes from start to end',
    domain: 'artifacts',
    proves: ['AGT-11'],
    needs: ['artifacts', 'payloadCodec'],
    async run(bench) {
      await expectParts(bench.encoded(newCodec()).artifacts);
    },
  },

  {
    id: 'artifacts/codec-beside-plain',
    title: 'The same bytes stored with and without a codec are kept apart, and each reader gets its own',
    domain: 'artifacts',
    proves: ['AGT-11'],
    needs: ['artifacts', 'payloadCodec'],
    async run(bench) {
      const bytes = bytesOf(300 * KIB);
      const encoded = bench.encoded(newCodec()).artifacts;
      const plain = bench.tenant.artifacts;
      const here = await plain.putBytes(bytes, { scope: { sessionId: 'plain' }, ttl: null });
      const there = await encoded.putBytes(bytes, { scope: { sessionId: 'encoded' }, ttl: null });
      expect(
        sameBytes(await encoded.get(there.id), bytes),
        'bytes that were stored plain before are also stored encoded',
      );
      expect(sameBytes(await plain.get(here.id), bytes), 'the plain bytes stay stored');
      expect(await plain.delete(there.id), 'a reference can be deleted without the codec');
      expect(sameBytes(await plain.get(here.id), bytes), 'deleting it keeps the other reference');
    },
  },
];
