/**
 * Reads all data of a store, a page at a time, and lists damaged values: chains of runs, records, documents, and
 * artifacts with their bytes. The cursor lets a check stop and resume. Only one page is in memory at a time.
 */
import { summedFields } from '../agents/events.ts';
import { Reading } from '../artifacts/reading.ts';
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkLimit } from '../checks/numbers.ts';
import { type CheckedPart, type CheckPage, TENANT_PARTS } from '../contracts/admin.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import type { PageOptions } from '../contracts/common.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { RunStore, VerifyReport } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import { TRACED_PARTS } from '../engine/tenancy.ts';
import { compareKeys, firstAfter } from '../kv/order.ts';
import type { StoreContext } from '../tools/context.ts';
import type { AdminEngines } from './engines.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

/** The position of a check: the tenant, the part, and the last key checked in it. */
interface Position {
  tenantId: string;
  part: CheckedPart;
  after: string | null;
}

/** Checks up to `limit` values of one part of one tenant. Returns the key to continue after, or `null` at the end. */
type PartCheck = (tenantId: string, after: string | null, limit: number, tally: Tally) => Promise<string | null>;

/** Checks the values of one page and counts the results. */
class Tally {
  readonly page: CheckPage = { checked: 0, unsummed: 0, damaged: [] };
  readonly call: EngineCall;
  readonly #at: Position;
  readonly #context: StoreContext;

  constructor(context: StoreContext, call: EngineCall, at: Position) {
    this.#context = context;
    this.call = call;
    this.#at = at;
  }

  damaged(name: string, reason: string): void {
    this.page.damaged.push({ tenantId: this.#at.tenantId, part: this.#at.part, name, reason });
  }

  /** Reads one value. A failure is counted as damage, unless the store is unreachable or lacks the encryption key. */
  async look(name: string, read: () => Promise<void> | void): Promise<void> {
    this.page.checked++;
    try {
      await read();
    } catch (error) {
      // A missing encryption key is a configuration error and not damage. A wrong checksum would have thrown another
      // error.
      if (isTidemarkError(error, 'CODEC_FAILED')) return;
      if (!isTidemarkError(error, 'CORRUPT_VALUE', 'CORRUPT_EVENT', 'STORAGE_ERROR')) throw error;
      this.damaged(name, error.message);
    }
  }

  /** Checks the stored text of a document. */
  document(name: string, text: string, payloadContext: PayloadContext, otherValues?: string): Promise<void> {
    return this.look(name, () => {
      if (!this.#context.payloads.check(text, payloadContext, otherValues)) this.page.unsummed++;
    });
  }
}

/** Checks one page of all stored data. A view checks only the data of its tenant. */
export async function checkPage(
  context: StoreContext,
  engines: AdminEngines,
  runs: RunStore,
  options: PageOptions | undefined,
): Promise<CheckPage> {
  const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
  const checks = partChecks(context, engines, runs);
  return context.read(options, async (call) => {
    const start = options?.cursor === undefined ? null : parseCursor(options.cursor, context.tenantId);
    const at = start ?? (await nextTenant(context, engines, null, call));
    if (at === null) return { checked: 0, unsummed: 0, damaged: [] };
    const tally = new Tally(context, call, at);
    const check = checks[at.part];
    const after = check ? await check(at.tenantId, at.after, limit, tally) : null;
    const next = after === null ? await nextPart(context, engines, at, call) : { ...at, after };
    return next === null ? tally.page : { ...tally.page, next: encodeCursor([next.tenantId, next.part, next.after]) };
  });
}

const PARTS: readonly CheckedPart[] = ['runs', 'kv', 'memory', 'pauses', 'sessions', 'traces', 'artifacts'];

async function nextPart(
  context: StoreContext,
  engines: AdminEngines,
  { tenantId, part }: Position,
  call: EngineCall,
): Promise<Position | null> {
  const next = PARTS[PARTS.indexOf(part) + 1];
  return next ? { tenantId, part: next, after: null } : nextTenant(context, engines, tenantId, call);
}

async function nextTenant(
  { tenantId: own }: StoreContext,
  { tenancy, parts }: AdminEngines,
  after: string | null,
  call: EngineCall,
): Promise<Position | null> {
  if (own !== null) return after === null ? { tenantId: own, part: 'runs', after: null } : null;
  const present = TENANT_PARTS.filter((part) => parts.has(part));
  const found = await Promise.all(present.map((part) => tenancy.tenants(part, after, 1, call)));
  const [tenantId] = firstAfter(found.flat(), after, 1);
  return tenantId === undefined ? null : { tenantId, part: 'runs', after: null };
}

/** Parses a cursor. In a view it must name the view's tenant, because callers can forge cursors. */
function parseCursor(cursor: string, own: string | null): Position {
  const isOurs = ([tenantId, part, after, ...more]: unknown[]) =>
    more.length === 0 &&
    typeof tenantId === 'string' &&
    (own === null || tenantId === own) &&
    PARTS.includes(part as CheckedPart) &&
    (after === null || typeof after === 'string');
  const [tenantId, part, after] = decodeCursor<[string, CheckedPart, string | null]>(cursor, isOurs);
  return { tenantId, part, after };
}

function partChecks(
  context: StoreContext,
  { tenancy, agents, artifacts, records, parts }: AdminEngines,
  runs: RunStore,
): Partial<Record<CheckedPart, PartCheck>> {
  const reading = new Reading(context, artifacts);
  const checks: Partial<Record<CheckedPart, PartCheck>> = {};

  if (parts.has('runs'))
    checks.runs = async (tenantId, after, limit, tally) => {
      const { signal, deadline } = tally.call;
      const options = { tenantId, signal, timeoutMs: Math.max(1, (deadline ?? Number.POSITIVE_INFINITY) - Date.now()) };
      const list = () =>
        runs.listRuns({ ...options, owner: 'any', limit, cursor: after ?? undefined, order: 'oldest' });
      const page = await list();
      const gone: string[] = [];
      for (const { runId } of page.items)
        await tally.look(runId, async () => {
          const report = await runs.verify(runId, options).catch((error) => {
            if (isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED')) return gone.push(runId) && null;
            throw error;
          });
          if (report && !report.ok) tally.damaged(runId, reasonOf(report));
        });
      // A run that was not found is damaged only if it is still listed; otherwise it was removed in the meantime.
      const listed = gone.length > 0 ? new Set((await list()).items.map(({ runId }) => runId)) : null;
      for (const runId of gone) if (listed!.has(runId)) tally.damaged(runId, 'it is listed and cannot be found');
      return page.next ?? null;
    };

  if (records)
    checks.kv = async (tenantId, after, limit, tally) => {
      const page = await records.scan('kv', tenantId, { prefix: '', after, limit }, tally.call);
      for (const { key, damaged, unsummed } of page) {
        tally.page.checked++;
        if (damaged) tally.damaged(key, 'The record does not match its checksum');
        else if (unsummed) tally.page.unsummed++;
      }
      const to = page.at(-1)?.key;
      if (to === undefined) return null;
      const known = new Set(page.filter(({ damaged }) => damaged).map(({ key }) => key));
      for (const key of (await records.damagedFields?.(tenantId, { after, to }, tally.call)) ?? [])
        if (!known.has(key)) tally.damaged(key, 'A field of the record does not match its checksum');
      return page.length < limit ? null : to;
    };

  if (parts.has('memory'))
    checks.memory = async (tenantId, after, limit, tally) => {
      const damaged: string[] = [];
      const rows = await agents.memory.list(tenantId, { prefix: '', after, limit }, { ...tally.call, damaged });
      for (const key of damaged) tally.damaged(key, 'Its version does not match its checksum');
      for (const { key } of rows) {
        let state: string | null = null;
        await tally.look(key, async () => {
          state = (await agents.memory.load(tenantId, key, tally.call))?.state ?? null;
          if (state !== null && !context.payloads.check(state, { tenantId, kind: 'memory', owner: key }))
            tally.page.unsummed++;
        });
      }
      return rows.length + damaged.length < limit ? null : last([...rows.map(({ key }) => key), ...damaged]);
    };

  if (parts.has('pauses'))
    checks.pauses = async (tenantId, after, limit, tally) => {
      const damaged: string[] = [];
      const rows = await agents.pauses.list(tenantId, { after, limit, sessionId: null }, { ...tally.call, damaged });
      for (const id of damaged) tally.damaged(id, 'Its metadata does not match its checksum');
      for (const { pauseId } of rows) {
        await tally.look(pauseId, async () => {
          const text = await agents.pauses.payload(tenantId, pauseId, tally.call);
          if (text !== null && !context.payloads.check(text, { tenantId, kind: 'pause', owner: pauseId }))
            tally.page.unsummed++;
        });
      }
      return rows.length + damaged.length < limit ? null : last([...rows.map(({ pauseId }) => pauseId), ...damaged]);
    };

  if (parts.has('tasks') || parts.has('updates') || parts.has('steering') || parts.has('trajectories'))
    checks.sessions = async (tenantId, after, limit, tally) => {
      const damaged: string[] = [];
      const ownerLimit = Math.max(1, Math.ceil(limit / DOCUMENTS_OF_OWNER));
      const sessions = await agents.sessions.list(tenantId, { after, limit: ownerLimit }, { ...tally.call, damaged });
      for (const id of damaged) tally.damaged(id, 'The session does not match its checksum');
      for (const { sessionId } of sessions) await checkSession(tenantId, sessionId, tally);
      const seen = [...sessions.map(({ sessionId }) => sessionId), ...damaged];
      return seen.length < ownerLimit ? null : last(seen);
    };

  const checkSession = async (tenantId: string, sessionId: string, tally: Tally): Promise<void> => {
    const owner = sessionId;
    if (parts.has('tasks'))
      for await (const page of agents.tasks.read(tenantId, sessionId, tally.call))
        for (const body of page) await tally.document(sessionId, body, { tenantId, kind: 'task', owner });
    for (const [kind, part] of SESSION_LOGS) {
      if (!parts.has(part)) continue;
      const log = agents[part];
      let sinceId: string | null = null;
      for (let more = true; more; ) {
        const range = { taskId: null, sinceId, limit: LOG_PAGE };
        const { items } = await log.page(tenantId, sessionId, range, tally.call);
        for (const { id, body } of items)
          await tally.document(`${sessionId} / ${id}`, body, { tenantId, kind, owner, item: id });
        more = items.length === LOG_PAGE;
        sinceId = items.at(-1)?.id ?? null;
      }
    }
    if (!parts.has('trajectories')) return;
    for (const traceId of await agents.trajectories.list(tenantId, sessionId, MAX_TRAJECTORIES, tally.call)) {
      await tally.look(`${sessionId} / ${traceId}`, async () => {
        const body = await agents.trajectories.get(tenantId, traceId, sessionId, tally.call);
        const payloadContext = { tenantId, kind: 'trajectory', owner: sessionId, item: traceId } as const;
        if (body !== null && !context.payloads.check(body, payloadContext)) tally.page.unsummed++;
      });
    }
  };

  if (parts.has('events') || parts.has('plannerEvents') || parts.has('bindings'))
    checks.traces = async (tenantId, after, limit, tally) => {
      const ownerLimit = Math.max(1, Math.ceil(limit / DOCUMENTS_OF_OWNER));
      const present = TRACED_PARTS.filter((part) => parts.has(part));
      const found = await Promise.all(
        present.map((part) => tenancy.traces(part, tenantId, after, ownerLimit, tally.call)),
      );
      const traces = firstAfter(found.flat(), after, ownerLimit);
      if (after === null) await checkHistory(tenantId, null, tally);
      for (const traceId of traces) {
        await checkHistory(tenantId, traceId, tally);
        await checkPlannerEvents(tenantId, traceId, tally);
        if (parts.has('bindings'))
          await tally.look(traceId, async () => void (await agents.bindings.list(tenantId, traceId, tally.call)));
      }
      return traces.length < ownerLimit ? null : traces.at(-1)!;
    };

  const checkHistory = async (tenantId: string, traceId: string | null, tally: Tally): Promise<void> => {
    if (!parts.has('events')) return;
    for await (const page of agents.events.read(tenantId, traceId, tally.call)) {
      for (const row of page) {
        const payloadContext = { tenantId, kind: 'flow-event', owner: traceId ?? '', item: row.id } as const;
        await tally.document(`${traceId ?? ''} / ${row.id}`, row.payload, payloadContext, summedFields(row));
      }
    }
  };

  const checkPlannerEvents = async (tenantId: string, traceId: string, tally: Tally): Promise<void> => {
    if (!parts.has('plannerEvents')) return;
    for await (const page of agents.plannerEvents.read(tenantId, traceId, tally.call)) {
      for (const body of page) await tally.document(traceId, body, { tenantId, kind: 'planner-event', owner: traceId });
    }
  };

  if (parts.has('artifacts'))
    checks.artifacts = async (tenantId, after, limit, tally) => {
      const damaged: string[] = [];
      const ownerLimit = Math.max(1, Math.ceil(limit / DOCUMENTS_OF_OWNER));
      const rows = await artifacts.listRefs(tenantId, {}, { after, limit: ownerLimit }, { ...tally.call, damaged });
      for (const id of damaged) tally.damaged(id, 'The reference does not match its checksum');
      for (const row of rows)
        await tally.look(row.id, async () => {
          for await (const _ of reading.chunks(tenantId, row, tally.call));
        });
      return rows.length + damaged.length < ownerLimit ? null : last([...rows.map(({ id }) => id), ...damaged]);
    };

  return checks;
}

function reasonOf({ problem, summary, snapshot }: VerifyReport): string {
  if (problem) return `event ${problem.runSeq}: ${problem.reason}`;
  return summary ? `${summary.field} is not ${summary.rule}` : `the stored snapshot: ${snapshot?.problem}`;
}

/** The assumed number of documents per session or trace, and of chunks per artifact, when a page is sized. */
const DOCUMENTS_OF_OWNER = 10;
const LOG_PAGE = 500;
const SESSION_LOGS = [
  ['update', 'updates'],
  ['steering', 'steering'],
] as const;
const MAX_TRAJECTORIES = 10_000;

function last(names: string[]): string {
  return names.sort(compareKeys).at(-1)!;
}
