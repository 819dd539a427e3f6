/** Artifacts: bytes in and out as streams, references as JSON. What is served is never run: it is a download. */
import type { ArtifactRef, ArtifactScope, PutArtifactOptions } from '@tidemark/core';
import Type from 'typebox';
import { whileHeld } from '../auth/holds.ts';
import { ANSWERED, json, untilWritable } from '../http/answer.ts';
import { contentTypeOf, wholeOf } from '../http/body.ts';
import { LABELLED_BYTES, readLabelled } from '../http/labelled-bytes.ts';
import { Refusal } from '../http/refusal.ts';
import { ArtifactRef as ArtifactRefSchema, Scope, Sweep, SweepResult } from '../schemas/artifacts.ts';
import { Json, jsonParameter, pageOf, pageQuery } from '../schemas/common.ts';
import { type Call, route } from './route.ts';

interface ScopeQuery {
  scope?: ArtifactScope;
}

const SCOPE = { scope: Type.Optional(jsonParameter(Scope, 'Only within this scope, as a JSON object')) };
const ACCESS = Type.Object(SCOPE);

const NO_SUCH = 'There is no such artifact in this scope';

export const ARTIFACT_ROUTES = [
  route<Omit<PutArtifactOptions, 'signal' | 'timeoutMs'>>(
    {
      method: 'POST',
      path: '/v1/artifacts',
      scope: 'artifacts:write',
      summary: `Store bytes: as they are, or as ${LABELLED_BYTES}, a line of JSON with the options and then the bytes`,
      query: Type.Object({
        ...SCOPE,
        filename: Type.Optional(Type.String()),
        namespace: Type.Optional(Type.String()),
        ttl: Type.Optional(Type.String()),
        source: Type.Optional(jsonParameter(Json, 'Where it came from, as a JSON object')),
      }),
      reads: [LABELLED_BYTES, '*/*'],
      answers: { 201: ArtifactRefSchema },
      problems: ['LIMIT_EXCEEDED', 'TENANT_MISMATCH', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
      confinesSession: true,
    },
    async (call) => {
      const { about, chunks } = await uploadOf(call);
      const { mimeType, filename, namespace, source, ttl } = about;
      const scope = scopeOf(call, about.scope);
      const put = { ...call.options, mimeType, filename, namespace, source, ttl, scope };
      return { status: 201, body: await call.store.artifacts.putStream(whileHeld(call.hold, chunks), put) };
    },
  ),
  route<ScopeQuery & { cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/artifacts',
      scope: 'artifacts:read',
      summary: 'References within a scope, in order of ids',
      query: pageQuery(SCOPE),
      answers: { 200: pageOf(ArtifactRefSchema) },
      confinesSession: true,
    },
    async (call) => {
      const { cursor, limit, scope } = call.query;
      return json(await call.store.artifacts.list(scopeOf(call, scope), { ...call.options, cursor, limit }));
    },
  ),
  route<ScopeQuery>(
    {
      method: 'GET',
      path: '/v1/artifacts/{id}',
      scope: 'artifacts:read',
      summary: 'The bytes of an artifact',
      query: ACCESS,
      answers: { 200: null },
      gives: ['*/*'],
      problems: ['NOT_FOUND', 'CODEC_FAILED'],
      confinesSession: true,
    },
    async (call): Promise<typeof ANSWERED> => {
      const { store, params, options, request, response } = call;
      const access = { ...options, scope: scopeOf(call, call.query.scope) };
      const ref = await store.artifacts.getRef(params.id!, access);
      const chunks = ref && request.method !== 'HEAD' ? await store.artifacts.getStream(params.id!, access) : null;
      if (!ref || (!chunks && request.method !== 'HEAD')) throw new Refusal(404, 'NOT_FOUND', NO_SUCH);
      const iterator = chunks?.[Symbol.asyncIterator]();
      // Bytes that cannot be read at all are a problem like any other.
      let next = await iterator?.next();
      response.writeHead(200, headersOf(ref));
      while (iterator && next && !next.done) {
        if (!response.write(next.value) && !(await untilWritable(response))) await iterator.return?.();
        next = await iterator.next();
      }
      response.end();
      return ANSWERED;
    },
  ),
  route<ScopeQuery>(
    {
      method: 'GET',
      path: '/v1/artifacts/{id}/ref',
      scope: 'artifacts:read',
      summary: 'The reference of an artifact',
      query: ACCESS,
      answers: { 200: ArtifactRefSchema },
      problems: ['NOT_FOUND'],
      confinesSession: true,
    },
    async (call) => {
      const access = { ...call.options, scope: scopeOf(call, call.query.scope) };
      const ref = await call.store.artifacts.getRef(call.params.id!, access);
      if (ref) return json(ref);
      throw new Refusal(404, 'NOT_FOUND', NO_SUCH);
    },
  ),
  route<ScopeQuery>(
    {
      method: 'DELETE',
      path: '/v1/artifacts/{id}',
      scope: 'artifacts:delete',
      summary: 'Remove the reference of an artifact',
      query: ACCESS,
      answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
      problems: ['OUTCOME_UNKNOWN'],
      confinesSession: true,
    },
    async (call) => {
      const access = { ...call.options, scope: scopeOf(call, call.query.scope) };
      return json({ deleted: await call.store.artifacts.delete(call.params.id!, access) });
    },
  ),
  route<unknown, { grace?: number | string }>(
    {
      method: 'POST',
      path: '/v1/artifact-sweep',
      scope: 'admin',
      summary: 'Remove expired references and bytes that no reference names',
      body: Sweep,
      answers: { 200: SweepResult },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => json(await store.artifacts.sweep({ ...options, grace: body.grace })),
  ),
];

/** A caller of one session sees and stores what belongs to it, and nothing else. */
function scopeOf({ principal }: Pick<Call, 'principal'>, scope: ArtifactScope | undefined): ArtifactScope | undefined {
  return principal.sessionId === undefined ? scope : { ...scope, sessionId: principal.sessionId };
}

async function uploadOf({ request, query, services, memory }: Call<Omit<PutArtifactOptions, 'signal' | 'timeoutMs'>>) {
  const type = contentTypeOf(request);
  if (type === LABELLED_BYTES) {
    const { label, chunks } = await readLabelled(request, services.limits.bodyBytes, memory);
    return { about: label as PutArtifactOptions, chunks };
  }
  const about: PutArtifactOptions = { ...query, ...(type === '' ? {} : { mimeType: type }) };
  return { about, chunks: wholeOf(request) };
}

/** A download that a browser neither guesses the type of nor runs. */
function headersOf({ mimeType, sizeBytes, filename, sha256 }: ArtifactRef): Record<string, string | number> {
  const name = encodeURIComponent((filename ?? 'artifact').toWellFormed()).replaceAll(
    /['()*]/g,
    (it) => `%${it.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': mimeType ?? 'application/octet-stream',
    'content-length': sizeBytes,
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    'content-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  };
}
