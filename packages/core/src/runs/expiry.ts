/**
 * When a run expires (RUN-21). The setting is a label of the first event, so that the chain covers it and every copy of
 * the run carries it.
 */
import { settingIn } from '../checks/expiry.ts';
import { TidemarkError } from '../contracts/errors.ts';
import { EXPIRY_LABEL } from '../contracts/expiry.ts';
import { hasRunEnded } from '../contracts/run-state.ts';
import type { RunHead } from '../engine/runs.ts';

const EXPIRED = 'a run that has not expired';

/** Whether the run has a setting. Without one it never expires. */
export function mayExpire({ labels }: Pick<RunHead, 'labels'>): boolean {
  return labels[EXPIRY_LABEL] !== undefined;
}

/** Returns when a run expires unless it receives another event, or `null` for a run that does not expire. */
export function expiryOf({
  labels,
  status,
  updatedAt,
}: Pick<RunHead, 'labels' | 'status' | 'updatedAt'>): number | null {
  const label = labels[EXPIRY_LABEL];
  const setting = label === undefined ? null : settingIn(label);
  if (setting === null) return null;
  const canExpire = setting.anyStatus || (status !== null && hasRunEnded(status));
  return canExpire ? updatedAt + setting.afterMs : null;
}

/** Whether a run has expired. A commit that was stored after the expiry does not bring it back. */
export function hasExpired(head: RunHead, now: number): boolean {
  if (head.notAfter !== undefined && head.updatedAt >= head.notAfter) return true;
  const at = expiryOf(head);
  return at !== null && now >= at;
}

/** Returns the `RUN_DELETED` error for a write to an expired run. */
export function runExpired(runId: string): TidemarkError {
  return new TidemarkError(
    'RUN_DELETED',
    `Run ${JSON.stringify(runId)} has expired; use a new run id, or begin a new life with life: 'new'`,
    { field: 'runId', rule: EXPIRED, runId },
  );
}

/** Whether an append was rejected because its run had expired and was not deleted yet. */
export function isExpiryError(error: unknown): boolean {
  return error instanceof TidemarkError && error.code === 'RUN_DELETED' && error.rule === EXPIRED;
}
