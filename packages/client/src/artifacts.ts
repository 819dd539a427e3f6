/** Artifacts over HTTP. A line of JSON with the options precedes the bytes. */
import {
  type ArtifactAccess,
  type ArtifactScope,
  type ArtifactStore,
  type ByteRange,
  type CallOptions,
  checkByteRange,
  checkDuration,
  checkLimit,
  checkObject,
  checkOptionalDuration,
  invalidArgument,
  isTidemarkError,
  type PutArtifactOptions,
  type StoreLimits,
  type StoreWrite,
} from '@tidemark/core/portable';
import { bodyOf, LABELLED_BYTES, targetOf } from '@tidemark/wire';
import type { Transport } from './transport.ts';

const DEFAULT_GRACE_MS = 3_600_000;

export function httpArtifacts(transport: Transport, { documentBytes }: StoreLimits): ArtifactStore {
  const within = (scope: ArtifactScope | undefined) => ({ scope: scope && checkScope(scope) });

  const put = (write: StoreWrite | undefined, body: Blob | ReadableStream<Uint8Array>, options: CallOptions) =>
    transport.call({ ...targetOf('POST /v1/artifacts'), body, type: LABELLED_BYTES, write }, options);

  const labelOf = ({ signal: _, timeoutMs: __, ...about }: PutArtifactOptions): string => {
    if (about.scope !== undefined) checkScope(about.scope);
    if (about.ttl !== undefined && about.ttl !== null) checkDuration(about.ttl, 'ttl');
    return `${bodyOf(about, documentBytes)}\n`;
  };

  const artifacts: ArtifactStore = {
    async putBytes(bytes, given) {
      const options = given ?? {};
      if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes', 'a Uint8Array', bytes ?? null);
      const write = transport.writeOf('artifacts', 'putBytes', [bytes, given]);
      return put(write, new Blob([labelOf(options), bytes as Uint8Array<ArrayBuffer>]), options);
    },

    async putText(text, given) {
      const options = given ?? {};
      if (typeof text !== 'string' || !text.isWellFormed()) {
        const received = typeof text === 'string' ? undefined : (text ?? null);
        throw invalidArgument('text', 'well-formed Unicode text', received);
      }
      const about = { mimeType: 'text/plain', ...options };
      const write = transport.writeOf('artifacts', 'putText', [text, given]);
      return put(write, new Blob([labelOf(about), text]), options);
    },

    async putStream(chunks, given) {
      const options = given ?? {};
      if (typeof chunks?.[Symbol.asyncIterator] !== 'function')
        throw invalidArgument('chunks', 'an async iterable of Uint8Array', chunks ?? null);
      const body = new LabelledStream(labelOf(options), chunks);
      try {
        return await put(
          transport.writeOf('artifacts', 'putStream', [{ withheld: 'chunks' }, given]),
          body.stream,
          options,
        );
      } catch (error) {
        throw body.failure ? body.failure.error : error;
      }
    },

    async get(id, access) {
      const chunks = await artifacts.getStream(id, access);
      return chunks && joined(chunks);
    },

    async getStream(id, access) {
      const range = checkByteRange(access);
      const request = { ...targetOf('GET /v1/artifacts/{id}', { id }), query: within(access?.scope) };
      const isWhole = range.start === 0 && range.end === Number.MAX_SAFE_INTEGER;
      if (isWhole) return (await transport.openOrNull(request, access))?.chunks ?? null;
      // HTTP cannot express an empty range.
      if (range.start === range.end) return (await artifacts.exists(id, access)) ? nothing() : null;
      try {
        const part = await transport.openOrNull({ ...request, headers: { range: rangeText(range) } }, access);
        if (part === null) return null;
        // A server of version 0.1 ignores the range and sends the whole artifact.
        return part.response.status === 206 ? part.chunks : cut(part.chunks, range);
      } catch (error) {
        if (isTidemarkError(error, 'INVALID_ARGUMENT') && error.field === 'range') return nothing();
        throw error;
      }
    },

    async getRef(id, access) {
      const request = { ...targetOf('GET /v1/artifacts/{id}/ref', { id }), query: within(access?.scope) };
      return transport.find(request, access);
    },

    async exists(id, access) {
      return (await artifacts.getRef(id, access)) !== null;
    },

    async delete(id, access?: ArtifactAccess) {
      const write = transport.writeOf('artifacts', 'delete', [id, access]);
      const request = { ...targetOf('DELETE /v1/artifacts/{id}', { id }), query: within(access?.scope), write };
      return (await transport.call(request, access)).deleted;
    },

    async list(scope, options) {
      const query = { ...within(scope), limit: checkLimit(options?.limit, 100, 1_000), cursor: options?.cursor };
      return transport.call({ ...targetOf('GET /v1/artifacts'), query }, options);
    },

    async sweep(options) {
      const grace = checkOptionalDuration(options?.grace, 'grace', DEFAULT_GRACE_MS);
      const write = transport.writeOf('artifacts', 'sweep', [options]);
      const request = { ...targetOf('POST /v1/artifact-sweep'), body: JSON.stringify({ grace }), write };
      return transport.call(request, options);
    },
  };
  return artifacts;
}

function checkScope(scope: ArtifactScope): ArtifactScope {
  return checkObject(scope, 'scope') as ArtifactScope;
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
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of chunks) parts.push(chunk as Uint8Array<ArrayBuffer>);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * Streams a label and then the bytes of an iterator. Keeps the iterator's error, because `fetch` replaces it with an
 * error of its own.
 */
class LabelledStream {
  readonly stream: ReadableStream<Uint8Array>;
  failure: { error: unknown } | undefined;

  constructor(label: string, chunks: AsyncIterable<Uint8Array>) {
    const iterator = chunks[Symbol.asyncIterator]();
    this.stream = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(label)),
      pull: async (controller) => {
        try {
          const { value, done } = await iterator.next();
          if (done) return controller.close();
          if (!(value instanceof Uint8Array)) throw invalidArgument('chunks', 'an async iterable of Uint8Array', value);
          // An empty chunk sends nothing, but makes the stream request the next chunk.
          controller.enqueue(value);
        } catch (error) {
          this.failure = { error };
          controller.error(error);
        }
      },
      cancel: async () => {
        await iterator.return?.();
      },
    });
  }
}
