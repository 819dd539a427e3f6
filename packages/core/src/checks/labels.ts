/** Checks the labels of runs: a small map of short texts (RUN-9). */
import { invalidArgument } from '../contracts/errors.ts';
import { EXPIRY_LABEL } from '../contracts/expiry.ts';
import { checkExpiryLabel } from './expiry.ts';
import { checkId, checkObject } from './text.ts';

const MAX_LABELS = 32;

/** Returns the labels. Throws `INVALID_ARGUMENT` naming the first invalid one. */
export function checkLabels(value: unknown, field: string): Record<string, string> {
  const labels = checkObject(value, field);
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS) throw invalidArgument(field, `at most ${MAX_LABELS} labels`);
  for (const [name, label] of entries) {
    checkId(name, `${field} (name)`);
    checkId(label, `${field}.${name}`);
    if (name === EXPIRY_LABEL) checkExpiryLabel(label as string, `${field}.${name}`);
  }
  return labels as Record<string, string>;
}
