import { invalidArgument } from '@tidemark/core';

/** Throws `INVALID_ARGUMENT` unless the value can be part of a KV key. */
export function checkName(value: unknown, field: string): string {
  if (typeof value === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(value)) return value;
  throw invalidArgument(field, '1 to 100 of A–Z, a–z, 0–9, _ and -', value ?? null);
}

/** Returns the prefix of the KV records of a subscription. */
export function subscriptionPrefix(name: string): string {
  return `tidemark.subscriptions.${checkName(name, 'name')}`;
}
