/**
 * Artifacts: bytes as streams, references as JSON. Artifacts are served as downloads, so that a browser never executes
 * them.
 */
import type { ArtifactRef, ArtifactScope, PutArtifactOptions } from '@tidemark/core';
import { DEFAULT_TENANT } from '@tidemark/core/engine';
import { LABELLED_BYTES } from '@tidemark/wire';
import { ARTIFACT_ROUTES } from '@tidemark/wire/routes';
import { whileHeld } from '../auth/holds.ts';
import { ANSWERED, json, untilWritable } from '../http/answer.ts';
import { contentTypeOf, wholeOf } from '../http/body.ts';
import { readLabelled } from '../http/labelled-bytes.ts';
import { type RequestedRange, rangeOf } from '../http/ranges.ts';
import { Refusal } from '../http/refusal.ts';
import type { MemoryLease } from '../limits/memory-budget.ts';
import { bind, type Call, type CallOf } from './route.ts';

/**
 * The memory that an upload takes: an engine holds at most four chunks of 256 KiB, and a fifth chunk is being filled.
 */
const UPLOAD_BYTES = 5 * 256 * 1024;
const NO_SUCH = 'There is no such artifact in this scope';

export const ARTIFACT_HANDLERS = bind(ARTIFACT_ROUTES, {
  'POST /v1/artifacts': async (call) => {
    const { about, chunks } = await uploadOf(call);
    const { mimeType, filename, namespace, source, ttl } = about;
    const scope = scopeOf(call, about.scope);
    const put = { ...call.options, mimeType, filename, namespace, source, ttl, scope };
    return { status: 201, body: await call.store.artifacts.putStream(whileHeld(call.hold, chunks), put) };
  },
  'GET /v1/artifacts': async (call) => {
    const { cursor, limit, scope } = call.query;
    return json(await call.store.artifacts.list(scopeOf(call, scope), { ...call.options, cursor, limit }));
  },
  'GET /v1/artifacts/{id}': async (call): Promise<typeof ANSWERED> => {
    const { store, params, options, request, response } = call;
    const access = { ...options, scope: scopeOf(call, call.query.scope) };
    const ref = await store.artifacts.getRef(params.id, access);
    if (!ref) throw new Refusal(404, 'NOT_FOUND', NO_SUCH);
    const isHead = request.method === 'HEAD';
    const redirected = isHead ? null : await redirectOf(call, ref);
    if (redirected !== null) {
      response.writeHead(307, { location: redirected, 'cache-control': 'private, no-store' }).end();
      return ANSWERED;
    }
    const range = isHead ? null : rangeOf(request, ref.sizeBytes, tagOf(ref));
    const chunks = isHead ? null : await store.artifacts.getStream(params.id, { ...access, ...range });
    if (!chunks && !isHead) throw new Refusal(404, 'NOT_FOUND', NO_SUCH);
    const iterator = chunks?.[Symbol.asyncIterator]();
    // The first bytes are read before the response begins, so that a failure is reported as an ordinary problem.
    let next = await iterator?.next();
    response.writeHead(range ? 206 : 200, {
      ...headersOf(ref),
      ...(range ? partHeaders(ref, range) : wholeHeaders(ref)),
    });
    while (iterator && next && !next.done) {
      if (!response.write(next.value) && !(await untilWritable(response))) await iterator.return?.();
      next = await iterator.next();
    }
    response.end();
    return ANSWERED;
  },
  'GET /v1/artifacts/{id}/ref': async (call) => {
    const access = { ...call.options, scope: scopeOf(call, call.query.scope) };
    const ref = await call.store.artifacts.getRef(call.params.id, access);
    if (ref) return json(ref);
    throw new Refusal(404, 'NOT_FOUND', NO_SUCH);
  },
  'DELETE /v1/artifacts/{id}': async (call) => {
    const access = { ...call.options, scope: scopeOf(call, call.query.scope) };
    return json({ deleted: await call.store.artifacts.delete(call.params.id, access) });
  },
  'POST /v1/artifact-sweep': async ({ store, body, options }) =>
    json(await store.artifacts.sweep({ ...options, grace: body.grace })),
});

/** Returns the URL from which a caller that prefers a redirect may download the whole artifact, or `null`. */
async function redirectOf(call: CallOf<'GET /v1/artifacts/{id}'>, ref: ArtifactRef): Promise<string | null> {
  const { request, services, store, options, query } = call;
  const prefers = /(^|[,;\s])redirect($|[,;\s])/.test(String(request.headers.prefer ?? ''));
  if (!prefers || request.headers.range !== undefined) return null;
  const tenantId = store.info.tenantId ?? query.scope?.tenantId ?? DEFAULT_TENANT;
  return services.downloadUrl(tenantId, ref, options);
}

/** Confines a caller with access to a single session to the artifacts of that session. */
function scopeOf({ principal }: Pick<Call, 'principal'>, scope: ArtifactScope | undefined): ArtifactScope | undefined {
  return principal.sessionId === undefined ? scope : { ...scope, sessionId: principal.sessionId };
}

async function uploadOf({ request, query, services, memory }: CallOf<'POST /v1/artifacts'>) {
  const type = contentTypeOf(request);
  if (type === LABELLED_BYTES) {
    const { label, chunks } = await readLabelled(request, services.limits.bodyBytes, memory);
    return { about: label as PutArtifactOptions, chunks: reserving(chunks, memory) };
  }
  const about: PutArtifactOptions = { ...query, ...(type === '' ? {} : { mimeType: type }) };
  return { about, chunks: reserving(wholeOf(request), memory) };
}

/**
 * Reserves memory as the bytes arrive, up to the amount that one upload holds, because the store never holds all bytes.
 */
async function* reserving(chunks: AsyncIterable<Uint8Array>, memory: MemoryLease): AsyncGenerator<Uint8Array> {
  let left = UPLOAD_BYTES;
  for await (const chunk of chunks) {
    const more = Math.min(left, chunk.length);
    if (more > 0) memory.grow(more);
    left -= more;
    yield chunk;
  }
}

/** Returns the tag of the bytes, which is the same in every scope. */
function tagOf({ sha256 }: ArtifactRef): string {
  return `"${sha256}"`;
}

function digestOf({ sha256 }: ArtifactRef): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
}

function wholeHeaders(ref: ArtifactRef): Record<string, string | number> {
  return { 'content-length': ref.sizeBytes, 'content-digest': digestOf(ref) };
}

/**
 * Returns the headers of a part. The digest covers the whole artifact, because the hash of a part is not known before
 * the part is read.
 */
function partHeaders(ref: ArtifactRef, { start, end }: RequestedRange): Record<string, string | number> {
  return {
    'content-length': end - start,
    'content-range': `bytes ${start}-${end - 1}/${ref.sizeBytes}`,
    'repr-digest': digestOf(ref),
  };
}

/** Returns the headers of a download. They prevent browsers from guessing the type of the artifact or executing it. */
function headersOf(ref: ArtifactRef): Record<string, string | number> {
  const { mimeType, filename } = ref;
  const name = encodeURIComponent((filename ?? 'artifact').toWellFormed()).replaceAll(
    /['()*]/g,
    (it) => `%${it.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': mimeType ?? 'application/octet-stream',
    etag: tagOf(ref),
    'accept-ranges': 'bytes',
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  };
}
