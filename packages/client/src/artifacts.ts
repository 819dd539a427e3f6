/** Artifacts over HTTP: a line of JSON about the bytes goes before them. */
import {
  type ArtifactAccess,
  type ArtifactRef,
  type ArtifactScope,
  type ArtifactStore,
  type CallOptions,
  checkDuration,
  checkLimit,
  checkObject,
  checkOptionalDuration,
  invalidArgument,
  type Page,
  type PutArtifactOptions,
  type StoreLimits,
} from '@tidemark/core/portable';
import type { Transport } from './transport.ts';
import { bodyOf } from './wire/bodies.ts';
import { segmentOf } from './wire/segments.ts';

const LABELLED_BYTES = 'application/vnd.tidemark.artifact';
const DEFAULT_GRACE_MS = 3_600_000;

export function httpArtifacts(transport: Transport, { documentBytes }: StoreLimits): ArtifactStore {
  const pathOf = (id: unknown) => `/v1/artifacts/${segmentOf(id, 'id')}`;
  const within = (scope: ArtifactScope | undefined) => ({ scope: scope && checkScope(scope) });

  const put = (
    method: string,
    body: Blob | ReadableStream<Uint8Array>,
    about: PutArtifactOptions,
    options: CallOptions,
  ) =>
    transport.call<ArtifactRef>(
      { method: 'POST', path: '/v1/artifacts', body, type: LABELLED_BYTES, write: { method, args: [about] } },
      options,
    );

  const labelOf = ({ signal: _, timeoutMs: __, ...about }: PutArtifactOptions): string => {
    if (about.scope !== undefined) checkScope(about.scope);
    if (about.ttl !== undefined && about.ttl !== null) checkDuration(about.ttl, 'ttl');
    return `${bodyOf(about, documentBytes)}\n`;
  };

  const artifacts: ArtifactStore = {
    async putBytes(bytes, given) {
      const options = given ?? {};
      if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes', 'a Uint8Array', bytes ?? null);
      return put('putBytes', new Blob([labelOf(options), bytes as Uint8Array<ArrayBuffer>]), options, options);
    },

    async putText(text, given) {
      const options = given ?? {};
      if (typeof text !== 'string' || !text.isWellFormed()) {
        const received = typeof text === 'string' ? undefined : (text ?? null);
        throw invalidArgument('text', 'well-formed Unicode text', received);
      }
      const about = { mimeType: 'text/plain', ...options };
      return put('putText', new Blob([labelOf(about), text]), about, options);
    },

    async putStream(chunks, given) {
      const options = given ?? {};
      if (typeof chunks?.[Symbol.asyncIterator] !== 'function')
        throw invalidArgument('chunks', 'an async iterable of Uint8Array', chunks ?? null);
      const body = new LabelledStream(labelOf(options), chunks);
      try {
        return await put('putStream', body.stream, options, options);
      } catch (error) {
        throw body.failure ? body.failure.error : error;
      }
    },

    async get(id, access) {
      const chunks = await artifacts.getStream(id, access);
      return chunks && joined(chunks);
    },

    async getStream(id, access) {
      const request = { method: 'GET', path: pathOf(id), query: within(access?.scope) } as const;
      return (await transport.openOrNull(request, access))?.chunks ?? null;
    },

    async getRef(id, access) {
      const request = { method: 'GET', path: `${pathOf(id)}/ref`, query: within(access?.scope) } as const;
      return transport.find<ArtifactRef>(request, access);
    },

    async exists(id, access) {
      return (await artifacts.getRef(id, access)) !== null;
    },

    async delete(id, access?: ArtifactAccess) {
      const write = { method: 'delete', args: [id, { scope: access?.scope }] };
      const request = { method: 'DELETE', path: pathOf(id), query: within(access?.scope), write } as const;
      return (await transport.call<{ deleted: boolean }>(request, access)).deleted;
    },

    async list(scope, options) {
      const query = { ...within(scope), limit: checkLimit(options?.limit, 100, 1_000), cursor: options?.cursor };
      return transport.call<Page<ArtifactRef>>({ method: 'GET', path: '/v1/artifacts', query }, options);
    },

    async sweep(options) {
      const grace = checkOptionalDuration(options?.grace, 'grace', DEFAULT_GRACE_MS);
      const write = { method: 'sweep', args: [{ grace }] };
      const request = { method: 'POST', path: '/v1/artifact-sweep', body: JSON.stringify({ grace }), write } as const;
      return transport.call<{ references: number; blobs: number; bytes: number }>(request, options);
    },
  };
  return artifacts;
}

function checkScope(scope: ArtifactScope): ArtifactScope {
  return checkObject(scope, 'scope') as ArtifactScope;
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of chunks) parts.push(chunk as Uint8Array<ArrayBuffer>);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** A label and then the bytes of an iterator; remembers what the iterator threw, which `fetch` tells in its own words. */
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
          // An empty chunk would ask for the next one at once and is nothing to send.
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
