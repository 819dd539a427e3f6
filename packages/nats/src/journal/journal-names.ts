/** One text for a journal's name, under which a process keeps what it knows of it. */
import type { JournalName } from '@tidemark/core/engine';

/** Ids have no NUL, so different names never meet. */
export function idOf(name: JournalName): string {
  return `${name.space}\0${name.tenantId}\0${name.name}`;
}
