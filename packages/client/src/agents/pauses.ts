/** Pause tokens over HTTP: the token travels in bodies only, and errors do not carry it. */
import {
  checkId,
  checkLimit,
  checkOptionalDuration,
  checkOptionalId,
  invalidArgument,
  type JsonObject,
  type Page,
  type PauseCapability,
  type PauseClaim,
  type PauseInfo,
  type StoreLimits,
} from '@tidemark/core/portable';
import type { Transport } from '../transport.ts';
import { uuid } from '../uuid.ts';
import { bodyOf } from '../wire/bodies.ts';

const DEFAULT_TTL_MS = 3_600_000;
const DEFAULT_LEASE_MS = 60_000;

export function httpPauses(transport: Transport, { documentBytes }: StoreLimits): PauseCapability {
  const post = (verb: string, members: object, write?: unknown) =>
    ({ method: 'POST', path: `/v1/pauses${verb}`, body: bodyOf(members, documentBytes), write }) as const;

  return {
    async savePlannerState(token, payload, options) {
      checkToken(token);
      const about = {
        ttl: checkOptionalDuration(options?.ttl, 'ttl', DEFAULT_TTL_MS),
        sessionId: checkOptionalId(options?.sessionId, 'sessionId'),
        taskId: checkOptionalId(options?.taskId, 'taskId'),
      };
      const write = { method: 'savePlannerState', args: [payload, about] };
      await transport.call(post('', { token, payload, ...about }, write), options);
    },

    async loadPlannerState(token, options) {
      checkToken(token);
      const requestId = checkOptionalId(options?.requestId, 'requestId') ?? uuid();
      const write = { method: 'loadPlannerState', args: [{ requestId }] };
      return transport.call<JsonObject>(post('/load', { token, requestId }, write), options);
    },

    async claimPlannerState(token, options) {
      checkToken(token);
      const requestId = checkOptionalId(options?.requestId, 'requestId') ?? uuid();
      const lease = checkOptionalDuration(options?.lease, 'lease', DEFAULT_LEASE_MS);
      const write = { method: 'claimPlannerState', args: [{ lease, requestId }] };
      const request = post('/claim', { token, lease, requestId }, write);
      return (await transport.call<{ claim: PauseClaim | null }>(request, options)).claim;
    },

    async confirmPlannerState(token, claimId, options) {
      checkToken(token);
      checkId(claimId, 'claimId');
      const write = { method: 'confirmPlannerState', args: [claimId] };
      await transport.call(post('/confirm', { token, claimId }, write), options);
    },

    async releasePlannerState(token, claimId, options) {
      checkToken(token);
      checkId(claimId, 'claimId');
      const write = { method: 'releasePlannerState', args: [claimId] };
      await transport.call(post('/release', { token, claimId }, write), options);
    },

    async peekPlannerState(token, options) {
      checkToken(token);
      return transport.find<PauseInfo>(post('/peek', { token }), options);
    },

    async listPauses(options) {
      const query = {
        limit: checkLimit(options?.limit, 100, 1_000),
        cursor: options?.cursor,
        sessionId: checkOptionalId(options?.sessionId, 'sessionId') ?? undefined,
      };
      return transport.call<Page<PauseInfo>>({ method: 'GET', path: '/v1/pauses', query }, options);
    },
  };
}

/** Whether it is one; the message must not show it. */
function checkToken(token: unknown): void {
  if (typeof token !== 'string') throw invalidArgument('token', 'a text');
}
