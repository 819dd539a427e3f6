/** The ordered list per session that updates and steering share (AGT-7), paged by item id. */

import { corruptValue, Damage } from '../checks/damage.ts';
import { checkLimit } from '../checks/numbers.ts';
import { checkId, checkOptionalId } from '../checks/text.ts';
import type { SessionListOptions, SessionPage } from '../contracts/agents.ts';
import type { SessionItem, SessionLogEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { withDamage } from '../tools/paging.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 10_000;

/** The items of one kind and tenant, with their engine. */
export interface SessionLog {
  context: StoreContext;
  engine: SessionLogEngine;
  tenantId: string;
  kind: 'update' | 'steering';
}

/** Encodes an item for storage. */
export function encodeItem({ context, tenantId, kind }: SessionLog, item: SessionItem): SessionItem {
  const payloadContext = { tenantId, kind, owner: item.sessionId, item: item.id };
  return { ...item, body: context.payloads.encode(item.body, payloadContext) };
}

/** Decodes a stored item. */
export function decodeItem<T>(log: SessionLog, sessionId: string, item: { id: string; body: string }): T {
  const { context, tenantId, kind } = log;
  return context.payloads.decode(item.body, { tenantId, kind, owner: sessionId, item: item.id });
}

/** Reads a page of a session's items. `next` is the last item's id when more follow. */
export async function readSessionPage<T>(
  log: SessionLog,
  sessionId: string,
  given: SessionListOptions | undefined,
): Promise<SessionPage<T>> {
  const { context, engine, tenantId } = log;
  checkId(sessionId, 'sessionId');
  const options = given ?? {};
  const limit = checkLimit(options.limit, DEFAULT_LIMIT, MAX_LIMIT);
  const range = { ...checkFilter(options), limit: limit + 1 };
  const { items, cursorFound } = await context.read(options, (call) => engine.page(tenantId, sessionId, range, call));
  const kept = items.slice(0, limit);
  const damage = new Damage();
  const read = kept.flatMap((item) => damage.attempt(() => [decodeItem<T>(log, sessionId, item)]) ?? []);
  const page: SessionPage<T> = { items: read, cursorFound };
  if (items.length > limit) page.next = kept.at(-1)!.id;
  return withDamage(page, damage.names);
}

/** Returns the items of a page. Throws if any item is damaged. */
export async function listSession<T>(
  log: SessionLog,
  sessionId: string,
  options: SessionListOptions | undefined,
): Promise<T[]> {
  const { items, damaged = [] } = await readSessionPage<T>(log, sessionId, options);
  if (damaged[0] !== undefined) throw corruptValue(log.kind, damaged[0]);
  return items;
}

/** Validates the options that select items. */
export function checkFilter(options: SessionListOptions): { taskId: string | null; sinceId: string | null } {
  return {
    taskId: checkOptionalId(options.taskId, 'taskId'),
    sinceId: checkOptionalId(options.sinceId, 'sinceId'),
  };
}
