/** What updates and steering share (AGT-7): an ordered list per session, continued after the id of an item. */

import { corruptValue, Damage } from '../checks/damage.ts';
import { checkLimit } from '../checks/numbers.ts';
import { checkId, checkOptionalId } from '../checks/text.ts';
import type { SessionListOptions, SessionPage } from '../contracts/agents.ts';
import type { SessionItem, SessionLogEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { withDamage } from '../tools/paging.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 10_000;

/** The items of one kind and tenant, and what keeps them. */
export interface SessionLog {
  context: StoreContext;
  engine: SessionLogEngine;
  tenantId: string;
  kind: 'update' | 'steering';
}

/** The item as it is stored. */
export function encodeItem({ context, tenantId, kind }: SessionLog, item: SessionItem): SessionItem {
  const place = { tenantId, kind, owner: item.sessionId, item: item.id };
  return { ...item, body: context.payloads.encode(item.body, place) };
}

/** What a stored item says. */
export function decodeItem<T>(log: SessionLog, sessionId: string, item: { id: string; body: string }): T {
  const { context, tenantId, kind } = log;
  return context.payloads.decode(item.body, { tenantId, kind, owner: sessionId, item: item.id });
}

/** A page of a session's items; `next` is the id of the last one when more come after it. */
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

/** The items of a page, as a list that is complete or fails. */
export async function listSession<T>(
  log: SessionLog,
  sessionId: string,
  options: SessionListOptions | undefined,
): Promise<T[]> {
  const { items, damaged = [] } = await readSessionPage<T>(log, sessionId, options);
  if (damaged[0] !== undefined) throw corruptValue(log.kind, damaged[0]);
  return items;
}

/** The parts of the options that choose items. */
export function checkFilter(options: SessionListOptions): { taskId: string | null; sinceId: string | null } {
  return {
    taskId: checkOptionalId(options.taskId, 'taskId'),
    sinceId: checkOptionalId(options.sinceId, 'sinceId'),
  };
}
