/** Checks of arguments and options. */
import { type Duration, type Store, TidemarkError } from '@tidemark/core';
import { checkDuration } from '@tidemark/core/adapters';

export function checkStore(store: Store): Store {
  if (typeof store?.runs?.tail === 'function') return store;
  throw refuse('store', 'must be an open Tidemark store');
}

export function checkId(streamId: unknown): string {
  if (typeof streamId === 'string' && streamId !== '') return streamId;
  throw refuse('streamId', 'must be text that is not empty');
}

/** Returns a duration in milliseconds. */
export function durationOf(value: Duration, field: string): number {
  return checkDuration(value, field);
}

export function refuse(field: string, rule: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${field} ${rule}`, { field, rule });
}
