/** The key of a journal within its space, for caches of this process. */
import type { JournalName } from '../engine/journal.ts';

/** Ids contain no NUL, so different journals have different keys. */
export function journalId({ tenantId, name }: JournalName): string {
  return `${tenantId}\0${name}`;
}
