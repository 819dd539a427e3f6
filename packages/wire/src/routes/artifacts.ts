/**
 * Artifacts: bytes as streams, references as JSON. Artifacts are served as downloads, so that a browser never executes
 * them.
 */
import type { JsonObject } from '@tidemark/core/portable';
import Type from 'typebox';
import { LABELLED_BYTES } from '../media-types.ts';
import { ArtifactRef as ArtifactRefSchema, Scope, Sweep, SweepResult } from '../schemas/artifacts.ts';
import { jsonOf, jsonParameter, pageOf, pageQuery } from '../schemas/common.ts';
import { routes } from './route.ts';

const SCOPE = { scope: Type.Optional(jsonParameter(Scope, 'Only within this scope, as a JSON object')) };

const ACCESS = Type.Object(SCOPE);

export const ARTIFACT_ROUTES = routes({
  'POST /v1/artifacts': {
    scope: 'artifacts:write',
    summary: `Store bytes: the raw bytes, or ${LABELLED_BYTES}: a line of JSON with the options and then the bytes`,
    query: Type.Object({
      ...SCOPE,
      filename: Type.Optional(Type.String()),
      namespace: Type.Optional(Type.String()),
      ttl: Type.Optional(Type.String()),
      source: Type.Optional(jsonParameter(jsonOf<JsonObject>(), 'Where it came from, as a JSON object')),
    }),
    reads: [LABELLED_BYTES, '*/*'],
    answers: { 201: ArtifactRefSchema },
    problems: ['LIMIT_EXCEEDED', 'TENANT_MISMATCH', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
    confinesSession: true,
  },
  'GET /v1/artifacts': {
    scope: 'artifacts:read',
    summary: 'List the references in a scope, ordered by id',
    query: pageQuery(SCOPE),
    answers: { 200: pageOf(ArtifactRefSchema) },
    confinesSession: true,
  },
  'GET /v1/artifacts/{id}': {
    scope: 'artifacts:read',
    summary: 'Get the bytes of an artifact, or with Range one part of them',
    query: ACCESS,
    answers: { 200: null, 206: null, 307: null },
    produces: ['*/*'],
    problems: ['NOT_FOUND', 'CODEC_FAILED'],
    refusals: { 416: 'INVALID_ARGUMENT: the artifact has no byte in this range' },
    confinesSession: true,
  },
  'GET /v1/artifacts/{id}/ref': {
    scope: 'artifacts:read',
    summary: 'Get the reference of an artifact',
    query: ACCESS,
    answers: { 200: ArtifactRefSchema },
    problems: ['NOT_FOUND'],
    confinesSession: true,
  },
  'DELETE /v1/artifacts/{id}': {
    scope: 'artifacts:delete',
    summary: 'Remove the reference of an artifact',
    query: ACCESS,
    answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
    problems: ['OUTCOME_UNKNOWN'],
    confinesSession: true,
  },
  'POST /v1/artifact-sweep': {
    scope: 'admin',
    summary: 'Remove expired references and bytes without a reference',
    body: Sweep,
    answers: { 200: SweepResult },
    problems: ['OUTCOME_UNKNOWN'],
  },
});
