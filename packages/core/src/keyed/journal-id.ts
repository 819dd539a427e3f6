/** One text for a journal of a space, under which a process keeps what it knows of it. */
import type { JournalName } from '../engine/journal.ts';

/** Ids have no NUL, so different names never meet. */
export function journalId({ tenantId, name }: JournalName): string {
  return `${tenantId}\0${name}`;
}
