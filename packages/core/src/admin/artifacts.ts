/** Artifacts of all tenants, for operators (GEN-10): references in pages, and totals of each tenant. */
import { isLive, scopeOf } from '../artifacts/scopes.ts';
import { Damage } from '../checks/damage.ts';
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkLimit, timeText } from '../checks/numbers.ts';
import { checkReference } from '../codec/blobs.ts';
import type { ArtifactTotals, StoredArtifact } from '../contracts/admin.ts';
import type { Page, PageOptions } from '../contracts/common.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import { firstAfter } from '../kv/order.ts';
import type { StoreContext } from '../tools/context.ts';
import { cursorKey, pageOf, withDamage } from '../tools/paging.ts';
import type { AdminEngines } from './engines.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
/**
 * The maximum number of reads per page, so that expired references and tenants without live references cannot make one
 * call run for ever.
 */
const MAX_READS = 50;
const LIST = 'stored artifacts';

/**
 * A position in the list: the tenant and the reference after which the list continues. `null` stands before the
 * tenant's first reference.
 */
interface Position {
  tenantId: string;
  after: string | null;
}

interface FoundRow {
  tenantId: string;
  row: ArtifactRow;
}

/** Lists the references of the tenant `only`, or of all tenants if `only` is absent, in order of tenants and ids. */
export async function listArtifacts(
  context: StoreContext,
  engines: AdminEngines,
  only: string | null,
  options: PageOptions | undefined,
): Promise<Page<StoredArtifact>> {
  const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
  const start = options?.cursor === undefined ? null : parseCursor(options.cursor, only);
  if (!engines.parts.has('artifacts')) return { items: [] };
  const damage: string[] = [];
  const { found, next } = await context.read(options, (call) =>
    findRows(context, engines, { only, start, limit }, damage, call),
  );
  const items = found.flatMap(({ tenantId, row }) => {
    const damaged = new Damage();
    damaged.attempt(() => checkReference(context.payloads, tenantId, row));
    damage.push(...damaged.names.map((name) => `${tenantId} / ${name}`));
    return damaged.names.length === 0 ? [toStored(tenantId, row)] : [];
  });
  const page = next === null ? { items } : { items, next: encodeCursor([LIST, next.tenantId, next.after]) };
  return withDamage(page, damage);
}

/** Omits the fields that only a store with the tenant's key can read. */
function toStored(tenantId: string, row: ArtifactRow): StoredArtifact {
  return {
    tenantId,
    id: row.id,
    mimeType: row.mimeType,
    sizeBytes: row.sizeBytes,
    filename: row.filename,
    scope: scopeOf(row),
    namespace: row.namespace,
    createdAt: timeText(row.createdAt),
    expiresAt: row.expiresAt === null ? null : timeText(row.expiresAt),
  };
}

async function findRows(
  context: StoreContext,
  engines: AdminEngines,
  { only, start, limit }: { only: string | null; start: Position | null; limit: number },
  damage: string[],
  call: EngineCall,
): Promise<{ found: FoundRow[]; next: Position | null }> {
  const found: FoundRow[] = [];
  const now = context.clock();
  let at = start ?? (await tenantAfter(engines, only, null, call));
  for (let reads = 0; at !== null && found.length < limit && reads < MAX_READS; reads++) {
    const { tenantId, after }: Position = at;
    const damaged: string[] = [];
    const range = { after, limit: limit - found.length };
    const rows = await engines.artifacts.listRefs(tenantId, {}, range, { ...call, damaged });
    damage.push(...damaged.map((name) => `${tenantId} / ${name}`));
    for (const row of rows) if (isLive(row, now)) found.push({ tenantId, row });
    const isDone = rows.length < range.limit;
    at = isDone ? await tenantAfter(engines, only, tenantId, call) : { tenantId, after: rows.at(-1)!.id };
  }
  return { found, next: at };
}

async function tenantAfter(
  { tenancy }: AdminEngines,
  only: string | null,
  after: string | null,
  call: EngineCall,
): Promise<Position | null> {
  if (only !== null) return after === null ? { tenantId: only, after: null } : null;
  const [tenantId] = await tenancy.tenants('artifacts', after, 1, call);
  return tenantId === undefined ? null : { tenantId, after: null };
}

/** Parses a cursor. It must name the tenant of the view or of the call, because callers can forge cursors. */
function parseCursor(cursor: string, only: string | null): Position {
  const isOurs = ([list, tenantId, after, ...more]: unknown[]) =>
    more.length === 0 &&
    list === LIST &&
    typeof tenantId === 'string' &&
    (only === null || tenantId === only) &&
    (after === null || typeof after === 'string');
  const [, tenantId, after] = decodeCursor<[string, string, string | null]>(cursor, isOurs);
  return { tenantId, after };
}

/** Returns artifact totals per tenant, or only the totals of the tenant `only`. */
export async function artifactTotals(
  context: StoreContext,
  { tenancy, artifacts, parts }: AdminEngines,
  only: string | null,
  options: PageOptions | undefined,
): Promise<Page<ArtifactTotals>> {
  const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
  const after = cursorKey('artifact totals', options?.cursor);
  if (!parts.has('artifacts')) return { items: [] };
  const now = context.clock();
  return context.read(options, async (call) => {
    const tenants =
      only === null ? await tenancy.tenants('artifacts', after, limit + 1, call) : firstAfter([only], after, 1);
    const { items, ...page } = pageOf('artifact totals', tenants, limit, same, same);
    const totals: ArtifactTotals[] = [];
    for (const tenantId of items) totals.push({ tenantId, ...(await artifacts.totals(tenantId, now, call)) });
    return { ...page, items: totals };
  });
}

function same(text: string): string {
  return text;
}
