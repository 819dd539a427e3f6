/** What updates and steering share (AGT-7): an ordered list per session, continued after the id of an item. */
import { decodeJson } from '../checks/json.ts';
import { checkLimit } from '../checks/numbers.ts';
import { checkId, checkOptionalId } from '../checks/text.ts';
import type { StoreContext } from '../context.ts';
import type { SessionListOptions, SessionPage } from '../contracts/agents.ts';
import type { SessionLogEngine } from '../engine/agents.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 10_000;

/** A page of a session's items; `next` is the id of the last one when more come after it. */
export async function readSessionPage<T>(
  context: StoreContext,
  engine: SessionLogEngine,
  tenantId: string,
  sessionId: string,
  options: SessionListOptions = {},
): Promise<SessionPage<T>> {
  checkId(sessionId, 'sessionId');
  const limit = checkLimit(options.limit, DEFAULT_LIMIT, MAX_LIMIT);
  const range = { ...checkFilter(options), limit: limit + 1 };
  const { items, cursorFound } = await context.read(options, (call) => engine.page(tenantId, sessionId, range, call));
  const kept = items.slice(0, limit);
  const page: SessionPage<T> = { items: kept.map((item) => decodeJson<T>(item.body)), cursorFound };
  if (items.length > limit) page.next = kept.at(-1)!.id;
  return page;
}

/** The parts of the options that choose items. */
export function checkFilter(options: SessionListOptions): { taskId: string | null; sinceId: string | null } {
  return {
    taskId: checkOptionalId(options.taskId, 'taskId'),
    sinceId: checkOptionalId(options.sinceId, 'sinceId'),
  };
}
