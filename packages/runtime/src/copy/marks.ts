/** Keys of records that copies keep in a target, and prefixes of records that are not copied. */
import { ERASURE_MARKS } from '@tidemark/core/engine';

export const COPY_MARKS = 'tidemark.copies.';

/**
 * The archive location of a run while a copy replaces the run. It blocks appends, and a later copy continues from it.
 */
export const REPLACING = 'tidemark:copy';

/** Feed cursors, copy manifests and erasure marks: these records have no meaning in another store. */
const NOT_COPIED = ['tidemark.subscriptions.', 'tidemark.projectors.', COPY_MARKS, ERASURE_MARKS];

export function isCopied(key: string): boolean {
  return !NOT_COPIED.some((prefix) => key.startsWith(prefix));
}
