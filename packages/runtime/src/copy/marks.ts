/** Names of records that copies keep in a target, and of those that mean nothing in another store. */
import { ERASURE_MARKS } from '@tidemark/core/engine';

export const COPY_MARKS = 'tidemark.copies.';

/** Where a run that is being replaced is said to lie meanwhile: nobody can append to it, and a later copy goes on. */
export const REPLACING = 'tidemark:copy';

/** Places in the feed of a store, notes of copies into it, and marks that an erasure there leaves. */
const NOT_COPIED = ['tidemark.subscriptions.', 'tidemark.projectors.', COPY_MARKS, ERASURE_MARKS];

export function isCopied(key: string): boolean {
  return !NOT_COPIED.some((prefix) => key.startsWith(prefix));
}
