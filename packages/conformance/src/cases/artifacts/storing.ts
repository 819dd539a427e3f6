/** Storing artifacts: bytes, texts and streams are returned unchanged, with all of their metadata (AGT-11). */
import type { ArtifactRef, ArtifactScope } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, expectField } from '../agents/samples.ts';
import { all } from '../iterate.ts';
import { INVALID_IDS, POISON_PAYLOADS, unrepresentable } from '../poison.ts';
import { bytesOf, inPieces, listed, sameBytes, sha256, TEXT } from './samples.ts';

const artifacts = casesOf('artifacts', 'artifacts');

export const STORING_CASES: ConformanceCase[] = [
  artifacts({
    id: 'artifacts/bytes-come-back',
    title: 'Bytes of any length are returned unchanged',
    proves: ['000 artifact_store', 'AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      for (const length of [0, 1, 255, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 1024 * 1024 + 7]) {
        const bytes = bytesOf(length);
        const ref = await store.putBytes(bytes);
        expectEqual([ref.sizeBytes, ref.sha256], [length, sha256(bytes)], 'a reference has size and SHA-256');
        expect(sameBytes(await store.get(ref.id), bytes), `${length} bytes are returned unchanged`);
      }
    },
  }),

  artifacts({
    id: 'artifacts/text-comes-back',
    title: 'A string is stored as its UTF-8 bytes',
    proves: ['000 artifact_store', 'AGT-11'],
    async run(bench) {
      const ref = await bench.tenant.artifacts.putText(TEXT);
      expectEqual(
        [ref.sizeBytes, ref.sha256],
        [Buffer.byteLength(TEXT), sha256(TEXT)],
        'size and hash are those of its bytes',
      );
      expect(sameBytes(await bench.tenant.artifacts.get(ref.id), TEXT), 'the bytes are its UTF-8');
    },
  }),

  artifacts({
    id: 'artifacts/streams-in-and-out',
    title: 'A stream with chunks of any size is stored as one artifact and read as a stream',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const bytes = bytesOf(1024 * 1024);
      const ref = await store.putStream(inPieces(bytes, [0, 1, 300_000, 7, 0, 262_144]), { filename: 'big.bin' });
      expectEqual([ref.sizeBytes, ref.sha256], [bytes.length, sha256(bytes)], 'size and hash are those of the whole');
      expect(sameBytes(await store.get(ref.id), bytes), 'the artifact can be read as bytes');
      const stream = await store.getStream(ref.id);
      expect(stream, 'the artifact can be read as a stream');
      expect(sameBytes(Buffer.concat(await all(stream)), bytes), 'the stream has the same bytes');
      const empty = await store.putStream(inPieces(new Uint8Array(0), []));
      expectEqual(empty.sizeBytes, 0, 'an empty stream is an empty artifact');
    },
  }),

  artifacts({
    id: 'artifacts/broken-streams-leave-nothing',
    title: 'A stream that fails leaves no reference',
    proves: ['AGT-11'],
    async run(bench) {
      async function* breaking() {
        yield bytesOf(300_000);
        throw new Error('the source broke');
      }
      const put = bench.tenant.artifacts.putStream(breaking()).then(
        () => 'stored',
        () => 'failed',
      );
      expectEqual(await put, 'failed', 'the put rejects with the error of the source');
      expectEqual(await listed(bench.tenant.artifacts), [], 'nothing is listed');
    },
  }),

  artifacts({
    id: 'artifacts/references-come-back-whole',
    title: 'A reference is returned with all its metadata',
    proves: ['AGT-11', '000 artifact_store'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const scope = { userId: 'user', sessionId: 'session', traceId: 'trace' };
      const options = {
        mimeType: 'text/plain; charset=utf-8',
        filename: 'Bericht über 🌊.txt',
        namespace: 'reports',
        source: { tool: 'web', n: 1 },
      };
      const ref = await store.putText(TEXT, { ...options, scope });
      for (const [name, value] of Object.entries(options))
        expectEqual<unknown>(ref[name as keyof ArtifactRef], value, `${name} is kept`);
      for (const [part, id] of Object.entries(scope))
        expectEqual(ref.scope[part as keyof ArtifactScope], id, `${part} is kept`);
      expectEqual(await store.getRef(ref.id), ref, 'getRef returns the same reference as the put');
      expectEqual((await store.list()).items, [ref], 'the list returns the same reference');
      const plain = await store.putText('plain');
      expectEqual(
        [plain.filename, plain.namespace, plain.source],
        [null, null, {}],
        'omitted fields are null or empty',
      );
    },
  }),

  artifacts({
    id: 'artifacts/unknown-is-nothing',
    title: 'An unknown id is null or false, never an error',
    proves: ['000 artifact_store', '000 errors'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      for (const id of ['unknown', sha256('unknown'), '..', '%', '__proto__']) {
        const answers = [
          await store.get(id),
          await store.getStream(id),
          await store.getRef(id),
          await store.exists(id),
          await store.delete(id),
        ];
        expectEqual<unknown>(answers, [null, null, null, false, false], 'an unknown id has nothing');
      }
      expectEqual((await store.list()).items, [], 'nothing is listed');
    },
  }),

  artifacts({
    id: 'artifacts/copied-in-and-out',
    title: 'Stored and returned bytes are copies',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const bytes = bytesOf(1_000);
      const kept = Uint8Array.from(bytes);
      const ref = await store.putBytes(bytes);
      bytes.fill(0);
      const read = await store.get(ref.id);
      expect(sameBytes(read, kept), 'changing bytes after they were stored changes nothing');
      read!.fill(0);
      expect(sameBytes(await store.get(ref.id), kept), 'changing returned bytes changes nothing stored');
    },
  }),

  artifacts({
    id: 'artifacts/sources-keep-their-json',
    title: 'The source of an artifact is returned deep-equal or rejected',
    proves: ['GEN-4'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      for (const [name, json] of POISON_PAYLOADS) {
        const ref = await store.putText(name, { source: JSON.parse(json) });
        expectEqual((await store.getRef(ref.id))?.source, JSON.parse(json), `${name} are returned deep-equal`);
      }
      for (const [name, source] of unrepresentable()) {
        await expectCode('INVALID_PAYLOAD', `${name} is refused`, () =>
          store.putText(TEXT, { source: source as never }),
        );
      }
    },
  }),

  artifacts({
    id: 'artifacts/bad-arguments-are-refused',
    title: 'Invalid arguments are rejected by name and nothing is stored',
    proves: ['GEN-1', 'GEN-5', 'AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const bad: Record<string, unknown[]> = {
        mimeType: ['', 'text', 'text/plain\r\nX-Evil: 1', 'a/b/c', 7],
        filename: ['a\0b', '\ud800', 7, 'x'.repeat(2_000)],
        namespace: ['', 'a\0b', '\ud800', 7],
        ttl: [0, -1, 1.5, '1 hour', Number.NaN],
      };
      for (const [field, values] of Object.entries(bad)) {
        for (const value of values) {
          const error = await expectCode(
            'INVALID_ARGUMENT',
            `${field} ${JSON.stringify(value)?.slice(0, 40)} is refused`,
            () => store.putText(TEXT, { [field]: value }),
          );
          expectField(error, field);
        }
      }
      for (const [name, id] of INVALID_IDS.filter(([, value]) => value !== null)) {
        const scope = { sessionId: id as string };
        const error = await expectCode('INVALID_ARGUMENT', `a session that is ${name} is refused`, () =>
          store.putText(TEXT, { scope }),
        );
        expectField(error, 'sessionId');
        await expectCode('INVALID_ARGUMENT', `an id that is ${name} is refused`, () => store.get(id as string));
      }
      expectField(
        await expectCode('INVALID_ARGUMENT', 'text is not accepted as bytes', () => store.putBytes('text' as never)),
        'bytes',
      );
      for (const text of [7 as never, 'a lone \ud800']) {
        expectField(
          await expectCode('INVALID_ARGUMENT', 'text that UTF-8 cannot represent is refused', () =>
            store.putText(text),
          ),
          'text',
        );
      }
      expectEqual(await listed(store), [], 'nothing was stored');
    },
  }),
];
