/** Updates or steering over journals: one journal per session, keyed by item id (AGT-7). */
import type { SessionLogEngine } from '../../engine/agents.ts';
import type { Journal, JournalName } from '../../engine/journal.ts';
import type { Contention } from '../../tools/contention.ts';
import { splitHeader, withHeader } from '../lines.ts';
import { LogAppender } from '../log-appender.ts';
import { checkDense } from '../scan.ts';
import type { SessionBook } from './session-book.ts';

/** How many entries to read at a time when filtering by task. */
const FILTER_PAGE = 1_000;

type Header = [taskId: string];

export function keyedSessionLog(
  journal: Journal,
  space: 'updates' | 'steering',
  contention: Contention,
  sessions: SessionBook,
): SessionLogEngine {
  const appender = new LogAppender(journal, space, contention, (tenantId, sessionId, call) =>
    sessions.open(tenantId, sessionId, call),
  );
  const nameOf = (tenantId: string, sessionId: string): JournalName => ({ space, tenantId, name: sessionId });

  return {
    append(tenantId, item, call) {
      const header: Header = [item.taskId];
      const entry = { key: item.id, body: withHeader(header, item.body) };
      return appender.append(tenantId, item.sessionId, [entry], call);
    },

    async page(tenantId, sessionId, range, call) {
      const name = nameOf(tenantId, sessionId);
      const [cursor] = range.sinceId === null ? [null] : await journal.find(name, [range.sinceId], call);
      const items: { id: string; body: string }[] = [];
      let after = cursor?.seq ?? 0;
      while (items.length < range.limit) {
        const limit = range.taskId === null ? range.limit - items.length : FILTER_PAGE;
        const entries = await journal.read(name, after, limit, call);
        checkDense(name, after, entries);
        for (const entry of entries) {
          if (items.length === range.limit) break;
          const { header, text } = splitHeader<Header>(entry);
          if (range.taskId === null || header[0] === range.taskId) items.push({ id: entry.key, body: text });
        }
        if (entries.length < limit) break;
        after = entries.at(-1)!.seq;
      }
      return { items, cursorFound: range.sinceId === null || cursor !== null };
    },

    wait(tenantId, sessionId, call) {
      return journal.wait(space, nameOf(tenantId, sessionId), call);
    },
  };
}
