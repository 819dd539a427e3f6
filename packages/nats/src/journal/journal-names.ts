/** The name of a journal as one text, used as a map key. */
import type { JournalName } from '@tidemark/core/engine';

/** Ids contain no NUL, so different names never collide. */
export function idOf(name: JournalName): string {
  return `${name.space}\0${name.tenantId}\0${name.name}`;
}
