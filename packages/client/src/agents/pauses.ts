/** Pause tokens over HTTP. The token is sent only in bodies, and errors do not contain it. */
import {
  checkId,
  checkLimit,
  checkOptionalDuration,
  checkOptionalId,
  invalidArgument,
  type PauseCapability,
  type StoreLimits,
  type StoreWrite,
} from '@tidemark/core/portable';
import { bodyOf, type RouteName, type Target, targetOf } from '@tidemark/wire';
import type { Transport } from '../transport.ts';
import { uuid } from '../uuid.ts';

const DEFAULT_TTL_MS = 3_600_000;
const DEFAULT_LEASE_MS = 60_000;
/** Replaces the token in the writes that errors carry. */
const WITHHELD = { withheld: 'token' } as const;

export function httpPauses(transport: Transport, { documentBytes }: StoreLimits): PauseCapability {
  const post = <Name extends RouteName>(to: Target<Name>, members: object, write?: StoreWrite) => ({
    ...to,
    body: bodyOf(members, documentBytes),
    write,
  });

  return {
    async savePlannerState(token, payload, options) {
      checkToken(token);
      const about = {
        ttl: checkOptionalDuration(options?.ttl, 'ttl', DEFAULT_TTL_MS),
        sessionId: checkOptionalId(options?.sessionId, 'sessionId'),
        taskId: checkOptionalId(options?.taskId, 'taskId'),
      };
      const write = transport.writeOf('agents', 'savePlannerState', [WITHHELD, payload, options]);
      await transport.call(post(targetOf('POST /v1/pauses'), { token, payload, ...about }, write), options);
    },

    async loadPlannerState(token, options) {
      checkToken(token);
      const requestId = checkOptionalId(options?.requestId, 'requestId') ?? uuid();
      const write = transport.writeOf('agents', 'loadPlannerState', [WITHHELD, { requestId }]);
      return transport.call(post(targetOf('POST /v1/pauses/load'), { token, requestId }, write), options);
    },

    async claimPause(token, options) {
      checkToken(token);
      const requestId = checkOptionalId(options?.requestId, 'requestId') ?? uuid();
      const lease = checkOptionalDuration(options?.lease, 'lease', DEFAULT_LEASE_MS);
      const write = transport.writeOf('agents', 'claimPause', [WITHHELD, { lease, requestId }]);
      const request = post(targetOf('POST /v1/pauses/claim'), { token, lease, requestId }, write);
      return (await transport.call(request, options)).claim;
    },

    async confirmPause(token, claimId, options) {
      checkToken(token);
      checkId(claimId, 'claimId');
      const write = transport.writeOf('agents', 'confirmPause', [WITHHELD, claimId, undefined]);
      await transport.call(post(targetOf('POST /v1/pauses/confirm'), { token, claimId }, write), options);
    },

    async releasePause(token, claimId, options) {
      checkToken(token);
      checkId(claimId, 'claimId');
      const write = transport.writeOf('agents', 'releasePause', [WITHHELD, claimId, undefined]);
      await transport.call(post(targetOf('POST /v1/pauses/release'), { token, claimId }, write), options);
    },

    async peekPause(token, options) {
      checkToken(token);
      return transport.find(post(targetOf('POST /v1/pauses/peek'), { token }), options);
    },

    async listPauses(options) {
      const query = {
        limit: checkLimit(options?.limit, 100, 1_000),
        cursor: options?.cursor,
        sessionId: checkOptionalId(options?.sessionId, 'sessionId') ?? undefined,
      };
      return transport.call({ ...targetOf('GET /v1/pauses'), query }, options);
    },
  };
}

/**
 * Throws `INVALID_ARGUMENT` unless the token is text. The message does not contain the token, because tokens are
 * secret.
 */
function checkToken(token: unknown): void {
  if (typeof token !== 'string') throw invalidArgument('token', 'a string');
}
