/** Artifacts over HTTP. A line of JSON with the options precedes the bytes. */
import {
  type ArtifactStore,
  type ByteRange,
  checkByteRange,
  invalidArgument,
  isTidemarkError,
  type PutArtifactOptions,
} from '@tidemark/core/portable';
import { bodyOf, LABELLED_BYTES, targetOf } from '@tidemark/wire';
import { type FormsOf, methodsOf, requestOf } from './calls.ts';
import { streamedBody } from './streamed-body.ts';
import { orNull, type Transport } from './transport.ts';

const FORMS = {
  getStream: { route: 'GET /v1/artifacts/{id}', takes: ['id', ['options?', 'scope']] },
  getRef: { route: 'GET /v1/artifacts/{id}/ref', takes: ['id', ['options?', 'scope']], finds: true },
  exists: {
    route: 'GET /v1/artifacts/{id}/ref',
    takes: ['id', ['options?', 'scope']],
    finds: true,
    answer: (ref: unknown) => ref !== null,
  },
  delete: { route: 'DELETE /v1/artifacts/{id}', takes: ['id', ['options?', 'scope']], answer: 'deleted' },
  list: { route: 'GET /v1/artifacts', takes: ['scope', ['options?', 'limit', 'cursor']] },
  sweep: { route: 'POST /v1/artifact-sweep', takes: [['options?', 'grace']] },
} as const satisfies FormsOf<'artifacts'>;

export function httpArtifacts(transport: Transport): ArtifactStore {
  const methods = methodsOf(transport, 'artifacts', FORMS);

  const put = (
    method: string,
    given: unknown,
    options: PutArtifactOptions,
    body: Blob | ReadableStream<Uint8Array>,
  ) => {
    const write = transport.writeOf('artifacts', method, [given, options]);
    return transport.call({ ...targetOf('POST /v1/artifacts'), body, type: LABELLED_BYTES, write }, options);
  };

  const labelOf = ({ signal: _, timeoutMs: __, ...about }: PutArtifactOptions): string =>
    `${bodyOf(about, transport.limits.documentBytes)}\n`;

  const artifacts: ArtifactStore = {
    ...methods,

    async putBytes(bytes, given) {
      const options = given ?? {};
      if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes', 'a Uint8Array', bytes ?? null);
      return put('putBytes', bytes, options, new Blob([labelOf(options), bytes as Uint8Array<ArrayBuffer>]));
    },

    async putText(text, given) {
      const options = given ?? {};
      if (typeof text !== 'string' || !text.isWellFormed()) {
        const received = typeof text === 'string' ? undefined : (text ?? null);
        throw invalidArgument('text', 'well-formed Unicode text', received);
      }
      return put('putText', text, options, new Blob([labelOf({ mimeType: 'text/plain', ...options }), text]));
    },

    async putStream(chunks, given) {
      const options = given ?? {};
      if (typeof chunks?.[Symbol.asyncIterator] !== 'function')
        throw invalidArgument('chunks', 'an async iterable of Uint8Array', chunks ?? null);
      // A body that ended early would be stored as the whole artifact.
      const body = streamedBody(labelled(labelOf(options), chunks), 'error');
      return put('putStream', { withheld: 'chunks' }, options, body.stream).finally(body.check);
    },

    async get(id, access) {
      const chunks = await artifacts.getStream(id, access);
      return chunks && joined(chunks);
    },

    async getStream(id, access) {
      const range = checkByteRange(access);
      const request = requestOf(transport, 'artifacts', 'getStream', FORMS.getStream, [id, access]);
      const isWhole = range.start === 0 && range.end === Number.MAX_SAFE_INTEGER;
      if (isWhole) return (await orNull(transport.open(request, access)))?.chunks ?? null;
      // HTTP cannot express an empty range.
      if (range.start === range.end) return (await artifacts.exists(id, access)) ? nothing() : null;
      try {
        const part = await orNull(transport.open({ ...request, headers: { range: rangeText(range) } }, access));
        if (part === null) return null;
        // A server of version 0.1 ignores the range and sends the whole artifact.
        return part.response.status === 206 ? part.chunks : cut(part.chunks, range);
      } catch (error) {
        if (isTidemarkError(error, 'INVALID_ARGUMENT') && error.field === 'range') return nothing();
        throw error;
      }
    },
  };
  return artifacts;
}

async function* labelled(label: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(label);
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) throw invalidArgument('chunks', 'an async iterable of Uint8Array', chunk);
    // An empty chunk sends nothing, but makes the stream request the next chunk.
    yield chunk;
  }
}

function rangeText({ start, end }: ByteRange): string {
  return `bytes=${start}-${end === Number.MAX_SAFE_INTEGER ? '' : end - 1}`;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* cut(chunks: AsyncIterable<Uint8Array>, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += chunk.length;
    if (part.length > 0) yield part;
    if (at >= end) return;
  }
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts = await Array.fromAsync(chunks as AsyncIterable<Uint8Array<ArrayBuffer>>);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
