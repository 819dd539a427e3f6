/**
 * Pauses in SQL (AGT-4). Every step is one statement that decides and changes on the engine's clock, so that exactly
 * one of several claimers and loaders succeeds. A consumed pause remains as a tombstone until its expiry, and for as
 * long as the request that consumed it may be retried.
 */
import type { PauseInfo } from '@tidemark/core';
import { corruptValue, Damage, type PauseEngine, REQUEST_KEPT_MS, sumNames, timeText } from '@tidemark/core/engine';
import { CLOCK, NOW, type SqlDatabase } from '../database.ts';
import { removeInSteps } from '../statements.ts';
import { integerOf, type SqlInteger } from '../values.ts';

/** Payloads can be megabytes, so each step removes only a few. */
const REMOVE_AT_ONCE = 50;

interface PauseInfoRow {
  pause_id: string;
  state: PauseInfo['state'];
  lease_until: SqlInteger | null;
  session_id: string | null;
  task_id: string | null;
  reason: string | null;
  sum: number | null;
  created_at: SqlInteger;
  expires_at: SqlInteger;
}

/** A pause whose lease has expired is shown as waiting. */
const INFO = `
  SELECT pause_id, session_id, task_id, reason, sum, created_at, expires_at,
         CASE WHEN state = 'claimed' AND lease_until <= ${NOW} THEN 'waiting' ELSE state END AS state,
         lease_until
    FROM @planner_pauses`;

const PAYLOAD = `
  SELECT payload FROM @planner_pauses
  WHERE tenant_id = ? AND pause_id = ? AND expires_at > ${NOW}
    AND (state = 'waiting' OR (state = 'claimed' AND lease_until <= ${NOW}))`;

/** When a consumed pause no longer has to be kept for a retry of the request that consumed it. */
const KEPT = `${NOW} + ${REQUEST_KEPT_MS}`;

/**
 * 1. Inserts an absent pause. An expired pause starts over under the same token.
 * 2. A waiting or claimed pause gets the new payload and expiry. It keeps its claim, because the claimer may already be
 *    resuming.
 * 3. A consumed pause is not changed, and no row is returned.
 */
const SAVE = `
  INSERT INTO @planner_pauses AS stored
    (tenant_id, pause_id, state, session_id, task_id, reason, sum, payload, created_at, expires_at)
  SELECT ?, ?, 'waiting', ?, ?, ?, ?, ?, now, now + ? FROM ${CLOCK} WHERE true
  ON CONFLICT (tenant_id, pause_id) DO UPDATE SET
    state       = CASE WHEN stored.expires_at > excluded.created_at THEN stored.state       ELSE 'waiting' END,
    claim_id    = CASE WHEN stored.expires_at > excluded.created_at THEN stored.claim_id    ELSE NULL END,
    lease_until = CASE WHEN stored.expires_at > excluded.created_at THEN stored.lease_until ELSE NULL END,
    created_at  = CASE WHEN stored.expires_at > excluded.created_at THEN stored.created_at  ELSE excluded.created_at END,
    kept_until  = NULL,
    session_id  = excluded.session_id,
    task_id     = excluded.task_id,
    reason      = excluded.reason,
    sum         = excluded.sum,
    payload     = excluded.payload,
    expires_at  = excluded.expires_at
  WHERE stored.state <> 'consumed' OR stored.expires_at <= excluded.created_at
  RETURNING pause_id`;

/**
 * 1. Claims only a waiting pause or one whose lease has expired. A retry with the same claim id succeeds again.
 * 2. The same claim keeps its lease while it lasts.
 * 3. A lease never outlasts its pause.
 */
const CLAIM = `
  UPDATE @planner_pauses SET
    state       = 'claimed',
    claim_id    = ?,
    lease_until = CASE
      WHEN state = 'claimed' AND claim_id = ? AND lease_until > ${NOW} THEN lease_until
      WHEN expires_at < ${NOW} + ? THEN expires_at
      ELSE ${NOW} + ?
    END
  WHERE tenant_id = ? AND pause_id = ? AND expires_at > ${NOW}
    AND (state = 'waiting' OR (state = 'claimed' AND (claim_id = ? OR lease_until <= ${NOW})))
  RETURNING payload, lease_until`;

/**
 * 1. Consumes only a pause that is waiting, has an expired lease, or is held by this claim.
 * 2. The payload stays for a retry of the same request, which succeeds even if the pause has expired since.
 */
const CONSUME = `
  UPDATE @planner_pauses SET
    state = 'consumed', claim_id = ?, lease_until = NULL,
    kept_until = CASE WHEN state = 'consumed' THEN kept_until ELSE ${KEPT} END
  WHERE tenant_id = ? AND pause_id = ? AND (
    (state = 'consumed' AND claim_id = ?)
    OR (expires_at > ${NOW} AND (
      state = 'waiting' OR (state = 'claimed' AND (claim_id = ? OR lease_until <= ${NOW}))
    ))
  )
  RETURNING payload`;

/**
 * A claim stays valid after its lease has expired, until another process claims the pause. Confirming twice succeeds.
 */
const CONFIRM = `
  UPDATE @planner_pauses SET
    state = 'consumed', lease_until = NULL,
    payload    = CASE WHEN state = 'claimed' THEN NULL ELSE payload END,
    kept_until = CASE WHEN state = 'consumed' THEN kept_until ELSE ${KEPT} END
  WHERE tenant_id = ? AND pause_id = ? AND claim_id = ?
    AND (state = 'consumed' OR (state = 'claimed' AND expires_at > ${NOW}))
  RETURNING pause_id`;

const RELEASE = `
  UPDATE @planner_pauses SET state = 'waiting', lease_until = NULL
  WHERE tenant_id = ? AND pause_id = ? AND claim_id = ? AND expires_at > ${NOW} AND state IN ('claimed', 'waiting')
  RETURNING pause_id`;

/** A claimed or consumed pause is not changed, and no row is returned. */
const BURY = `
  INSERT INTO @planner_pauses AS stored
    (tenant_id, pause_id, state, session_id, task_id, reason, sum, payload, created_at, expires_at)
  SELECT ?, ?, 'consumed', ?, ?, ?, ?, NULL, now, now + ? FROM ${CLOCK} WHERE true
  ON CONFLICT (tenant_id, pause_id) DO UPDATE SET
    state       = 'consumed',
    lease_until = NULL,
    payload     = CASE WHEN stored.state = 'consumed' AND stored.expires_at > excluded.created_at THEN stored.payload ELSE NULL END,
    claim_id    = CASE WHEN stored.state = 'consumed' AND stored.expires_at > excluded.created_at THEN stored.claim_id ELSE NULL END,
    expires_at  = CASE WHEN stored.expires_at > excluded.created_at THEN stored.expires_at ELSE excluded.expires_at END
  WHERE stored.state <> 'claimed' OR stored.lease_until <= excluded.created_at OR stored.expires_at <= excluded.created_at
  RETURNING pause_id`;

const IS_OVER = `expires_at <= ${NOW} AND (kept_until IS NULL OR kept_until <= ${NOW})`;

/** Repeats the condition outside the subquery, because a pause may be saved again after the subquery was evaluated. */
const REMOVE_EXPIRED = `
  DELETE FROM @planner_pauses
  WHERE ${IS_OVER} AND (tenant_id, pause_id) IN (
    SELECT tenant_id, pause_id FROM @planner_pauses WHERE ${IS_OVER} ORDER BY expires_at LIMIT ?
  )
  RETURNING pause_id`;

export function sqlPauses(db: SqlDatabase): PauseEngine {
  return {
    async save(tenantId, { pauseId, sessionId, taskId, reason, payload, ttlMs }, call) {
      const sum = sumOf(tenantId, pauseId, [sessionId, taskId, reason]);
      const params = [tenantId, pauseId, sessionId, taskId, reason, sum, payload, ttlMs];
      const saved = await db.write((tx) => tx.all(SAVE, params), call);
      return saved.length > 0 ? 'saved' : 'consumed';
    },

    async claim(tenantId, pauseId, { claimId, leaseMs }, call) {
      const params = [claimId, claimId, leaseMs, leaseMs, tenantId, pauseId, claimId];
      const [claimed] = await db.write(
        (tx) => tx.all<{ payload: string; lease_until: SqlInteger }>(CLAIM, params),
        call,
      );
      return claimed ? { payload: claimed.payload, leaseUntil: integerOf(claimed.lease_until) } : null;
    },

    async consume(tenantId, pauseId, claimId, call) {
      const params = [claimId, tenantId, pauseId, claimId, claimId];
      const [consumed] = await db.write((tx) => tx.all<{ payload: string | null }>(CONSUME, params), call);
      return consumed?.payload ?? null;
    },

    async settle(tenantId, pauseId, claimId, as, call) {
      const sql = as === 'consumed' ? CONFIRM : RELEASE;
      const settled = await db.write((tx) => tx.all(sql, [tenantId, pauseId, claimId]), call);
      return settled.length > 0;
    },

    async bury(tenantId, { pauseId, sessionId, taskId, reason, ttlMs }, call) {
      const sum = sumOf(tenantId, pauseId, [sessionId, taskId, reason]);
      const params = [tenantId, pauseId, sessionId, taskId, reason, sum, ttlMs];
      return (await db.write((tx) => tx.all(BURY, params), call)).length > 0;
    },

    async peek(tenantId, pauseId, call) {
      const sql = `${INFO} WHERE tenant_id = ? AND pause_id = ? AND expires_at > ${NOW}`;
      const [row] = await db.read<PauseInfoRow>(sql, [tenantId, pauseId], call);
      return row ? infoOf(tenantId, row) : null;
    },

    async payload(tenantId, pauseId, call) {
      const [row] = await db.read<{ payload: string | null }>(PAYLOAD, [tenantId, pauseId], call);
      return row?.payload ?? null;
    },

    async list(tenantId, { after, limit, sessionId }, call) {
      const sql = `
        ${INFO}
        WHERE tenant_id = ? ${sessionId === null ? '' : 'AND session_id = ?'} AND pause_id > ? AND expires_at > ${NOW}
        ORDER BY pause_id
        LIMIT ?`;
      const params = [tenantId, ...(sessionId === null ? [] : [sessionId]), after ?? '', limit];
      const rows = await db.read<PauseInfoRow>(sql, params, call);
      const damage = new Damage();
      const pauses = rows.flatMap((row) => damage.attempt(() => [infoOf(tenantId, row)]) ?? []);
      damage.report(call.damaged);
      return pauses;
    },

    removeExpired(limit, call) {
      return removeInSteps(limit, REMOVE_AT_ONCE, async (most) => {
        return (await db.write((tx) => tx.all(REMOVE_EXPIRED, [most]), call)).length;
      });
    },
  };
}

/** Returns the checksum of the columns that a list shows, except the times. The payload has its own checksum. */
function sumOf(tenantId: string, pauseId: string, about: readonly (string | null)[]): number {
  return sumNames(['pause', tenantId, pauseId, JSON.stringify(about)]);
}

function infoOf(tenantId: string, row: PauseInfoRow): PauseInfo {
  const about = [row.session_id, row.task_id, row.reason];
  if (row.sum !== null && row.sum !== sumOf(tenantId, row.pause_id, about)) throw corruptValue('pause', row.pause_id);
  const info: PauseInfo = {
    pauseId: row.pause_id,
    state: row.state,
    createdAt: timeText(integerOf(row.created_at)),
    expiresAt: timeText(integerOf(row.expires_at)),
  };
  if (row.state === 'claimed') info.leaseUntil = timeText(integerOf(row.lease_until!));
  if (row.session_id !== null) info.sessionId = row.session_id;
  if (row.task_id !== null) info.taskId = row.task_id;
  if (row.reason !== null) info.reason = row.reason;
  return info;
}
