/**
 * Pause tokens (AGT-4) are consumed once, claimed with a lease, and expire to the millisecond. Only the hash of a token
 * leaves this file, so engines, errors and logs never see the token.
 */

import { encodeJsonObject } from '../checks/json.ts';
import { checkLimit, checkOptionalDuration, timeText } from '../checks/numbers.ts';
import { checkId, checkOptionalId } from '../checks/text.ts';
import type { PauseCapability } from '../contracts/agents.ts';
import type { CallOptions, JsonObject } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { Withheld } from '../contracts/writes.ts';
import type { PauseEngine } from '../engine/agents.ts';
import { sha256Hex } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { cursorKey, pageOf, withDamage } from '../tools/paging.ts';
import { carriedWrite } from '../tools/writes.ts';
import { encodeReason, infoOf } from './pause-reason.ts';

const DEFAULT_TTL_MS = 3_600_000;
const DEFAULT_LEASE_MS = 60_000;
const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
const TOKEN_BYTES = 32;

/** Returns a new pause token: 256 random bits in base64url. */
export function mintPauseToken(
  random: (length: number) => Uint8Array = (length) => globalThis.crypto.getRandomValues(new Uint8Array(length)),
): string {
  return Buffer.from(random(TOKEN_BYTES)).toString('base64url');
}

/** Creates the pause capability of one tenant. */
export function createPauses(context: StoreContext, engine: PauseEngine, tenantId: string): PauseCapability {
  const settle = async (
    method: 'confirmPause' | 'releasePause',
    token: string,
    claimId: string,
    as: 'consumed' | 'waiting',
    options?: CallOptions,
  ) => {
    const pauseId = pauseIdOf(token);
    checkId(claimId, 'claimId');
    const write = context.writeOf('agents', method, [withheld(pauseId), claimId, options]);
    const settled = await context.write(options, write, (call) => engine.settle(tenantId, pauseId, claimId, as, call));
    if (!settled) throw claimLost(pauseId);
  };

  const pauseContext = (pauseId: string) => ({ tenantId, kind: 'pause', owner: pauseId }) as const;

  const decode = (pauseId: string, payload: string): JsonObject =>
    context.payloads.decode(payload, pauseContext(pauseId));

  return {
    async savePlannerState(token, payload, options) {
      const pauseId = pauseIdOf(token);
      const ttlMs = checkOptionalDuration(options?.ttl, 'ttl', DEFAULT_TTL_MS);
      const sessionId = checkOptionalId(options?.sessionId, 'sessionId');
      const taskId = checkOptionalId(options?.taskId, 'taskId');
      const text = encodeJsonObject(payload, 'payload', context.limits.documentBytes);
      const body = context.payloads.encode(text, pauseContext(pauseId));
      const reason = encodeReason(context, tenantId, pauseId, payload.reason);
      const row = { pauseId, payload: body, ttlMs, sessionId, taskId, reason };
      const write = context.writeOf('agents', 'savePlannerState', [withheld(pauseId), payload, options]);
      const outcome = await context.write(options, write, (call) => engine.save(tenantId, row, call));
      if (outcome === 'consumed') throw tokenConsumed(pauseId);
    },

    async loadPlannerState(token, options) {
      const pauseId = pauseIdOf(token);
      const requestId = checkOptionalId(options?.requestId, 'requestId') ?? context.uuid();
      const write = context.writeOf('agents', 'loadPlannerState', [withheld(pauseId), { ...options, requestId }]);
      const payload = await context.write(options, write, (call) => engine.consume(tenantId, pauseId, requestId, call));
      if (payload === null) return {};
      try {
        return decode(pauseId, payload);
      } catch (error) {
        // The pause is consumed but not lost: a store that can decode it gets the payload with the same request id.
        throw isTidemarkError(error, 'CODEC_FAILED') ? Object.assign(error, { write: carriedWrite(write) }) : error;
      }
    },

    async claimPause(token, options) {
      const pauseId = pauseIdOf(token);
      const claimId = checkOptionalId(options?.requestId, 'requestId') ?? context.uuid();
      const leaseMs = checkOptionalDuration(options?.lease, 'lease', DEFAULT_LEASE_MS);
      const retryOptions = { ...options, requestId: claimId };
      const write = context.writeOf('agents', 'claimPause', [withheld(pauseId), retryOptions]);
      const claim = await context.write(options, write, (call) =>
        engine.claim(tenantId, pauseId, { claimId, leaseMs }, call),
      );
      if (claim === null) return null;
      try {
        return { claimId, payload: decode(pauseId, claim.payload), leaseUntil: timeText(claim.leaseUntil) };
      } catch (error) {
        // Release it for a process that can decode it. If that fails, the claim ends with its lease.
        await settle('releasePause', token, claimId, 'waiting', options).catch(() => undefined);
        throw error;
      }
    },

    confirmPause(token, claimId, options) {
      return settle('confirmPause', token, claimId, 'consumed', options);
    },

    releasePause(token, claimId, options) {
      return settle('releasePause', token, claimId, 'waiting', options);
    },

    async peekPause(token, options) {
      const pauseId = pauseIdOf(token);
      const pause = await context.read(options, (call) => engine.peek(tenantId, pauseId, call));
      return pause && infoOf(context, tenantId, pause);
    },

    async listPauses(options) {
      const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
      const after = cursorKey('pauses', options?.cursor);
      const sessionId = checkOptionalId(options?.sessionId, 'sessionId');
      const range = { after, limit: limit + 1, sessionId };
      const damaged: string[] = [];
      const pauses = await context.read(options, (call) => engine.list(tenantId, range, { ...call, damaged }));
      const page = pageOf(
        'pauses',
        pauses,
        limit,
        (pause) => pause.pauseId,
        (pause) => infoOf(context, tenantId, pause),
      );
      return withDamage(page, damaged);
    },
  };
}

/** Replaces the token in a write, so that errors carry only its hash. */
function withheld(pauseId: string): Withheld<'token'> {
  return { withheld: 'token', pauseId };
}

function pauseIdOf(token: string): string {
  try {
    return sha256Hex(checkId(token, 'token'));
  } catch (error) {
    // Rethrow the error without the value, because a token that is too long is still a secret.
    if (isTidemarkError(error) && error.rule) throw invalidArgument('token', error.rule);
    throw error;
  }
}

function claimLost(pauseId: string): TidemarkError {
  const message = `The claim on pause ${pauseId.slice(0, 12)}… is not the current one: another caller has claimed it, or the pause no longer exists. Do not act on it`;
  return new TidemarkError('CLAIM_LOST', message, { field: 'claimId', rule: 'the current claim of the pause' });
}

function tokenConsumed(pauseId: string): TidemarkError {
  const message = `The token of pause ${pauseId.slice(0, 12)}… was used already; save the pause under a new token`;
  return new TidemarkError('TOKEN_CONSUMED', message, { field: 'token', rule: 'a token that has not been used' });
}
