/** The setting with which a run expires, as the value of its label (RUN-21). */
import type { Duration } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import { EXPIRY_LABEL, type RunExpiry } from '../contracts/expiry.ts';
import { checkDuration } from './numbers.ts';
import { checkObject, checkOneOf } from './text.ts';

const ANY_STATUS = ' any';
const RULE = "a duration such as '30d', or '1h any' for a run that has not ended";

export interface ExpirySetting {
  afterMs: number;
  anyStatus: boolean;
}

/** Checks the label's value. */
export function checkExpiryLabel(value: string, field: string): void {
  if (settingIn(value) === null) throw invalidArgument(field, RULE, value);
}

/** Returns the label's value for the option of a handle. */
export function expiryLabel(expires: Duration | RunExpiry): string {
  const { after, status = 'ended' } = typeof expires === 'object' ? checkExpiry(expires) : { after: expires };
  const ms = checkDuration(after, 'expires');
  return `${typeof after === 'string' ? after : `${ms}ms`}${status === 'any' ? ANY_STATUS : ''}`;
}

function checkExpiry(expires: RunExpiry): RunExpiry {
  checkObject(expires, 'expires');
  if (expires.status !== undefined) checkOneOf(expires.status, 'expires.status', ['any', 'ended']);
  return expires;
}

/** Returns the setting in a label's value, or `null` if it has none. */
export function settingIn(label: string): ExpirySetting | null {
  const anyStatus = label.endsWith(ANY_STATUS);
  try {
    const afterMs = checkDuration(anyStatus ? label.slice(0, -ANY_STATUS.length) : label, EXPIRY_LABEL);
    return { afterMs, anyStatus };
  } catch {
    return null;
  }
}
