/**
 * The artifact store of every backend (AGT-11): checks scope, type and limits before the engine is called. Bytes are
 * stored first, then the reference, then what has to give way goes; a crash in between leaves bytes for the sweep.
 */
import { encodeJsonObject } from '../checks/json.ts';
import { checkDuration, checkLimit, checkOptionalDuration, timeText } from '../checks/numbers.ts';
import { checkId, checkOptionalId, checkText } from '../checks/text.ts';
import {
  type BlobDescription,
  decodeChunks,
  describeBlob,
  encodeChunks,
  encodeSource,
  storedNameOf,
} from '../codec/blobs.ts';
import { isEnvelope } from '../codec/envelope.ts';
import type { Payloads } from '../codec/payloads.ts';
import type { StoreContext } from '../context.ts';
import type { ArtifactAccess, ArtifactRef, ArtifactStore, PutArtifactOptions } from '../contracts/artifacts.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { ArtifactEngine, ArtifactMatch, ArtifactRow, BlobSource } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/runs.ts';
import { sha256Hex } from '../hash.ts';
import { boundedChunks, cursorKey, pageOf } from '../paging.ts';
import { chunksOf, corrupt, HashedChunks, verified } from './chunks.ts';
import { type Candidate, checkArtifactSize, planEviction } from './retention.ts';
import { type CheckedScope, checkScope, isLive, isWithin, matchOf, scopeOf } from './scopes.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
const NEIGHBOURS_PAGE = 1_000;
const DEFAULT_GRACE_MS = 3_600_000;
const MAX_NAME_BYTES = 255;
const MIME_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *;[\x20-\x7e]*)?$/;

/** What is known of an artifact before its bytes are. */
interface Intent {
  scope: CheckedScope;
  mimeType: string | null;
  filename: string | null;
  namespace: string | null;
  source: string;
  ttlMs: number | null;
}

/** The artifacts of one tenant, or, when not confined, of the tenant that a scope names. */
export function createArtifacts(
  context: StoreContext,
  engine: ArtifactEngine,
  tenantId: string,
  confined: boolean,
): ArtifactStore {
  const view = { tenantId, confined };
  const { payloads } = context;

  const refOf = (owner: string, row: ArtifactRow) => referenceOf(row, describeBlob(payloads, owner, row));

  /** The reference, if it exists for the caller. */
  const find = async (id: string, scope: CheckedScope, call: EngineCall): Promise<ArtifactRow | null> => {
    const row = await engine.getRef(scope.owner, id, call);
    return row && isLive(row, context.clock()) && isWithin(row, scope) ? row : null;
  };

  const lookUp = async <T>(
    id: string,
    access: ArtifactAccess | undefined,
    tell: (row: ArtifactRow, owner: string) => T,
  ) => {
    checkId(id, 'id');
    const scope = checkScope(view, access?.scope);
    const row = await context.read(access, (call) => find(id, scope, call));
    return row && tell(row, scope.owner);
  };

  const neighbours = async (owner: string, match: ArtifactMatch, id: string, call: EngineCall) => {
    const found: Candidate[] = [];
    const now = context.clock();
    for (let after: string | null = null; ; ) {
      const page: ArtifactRow[] = await engine.listRefs(owner, match, { after, limit: NEIGHBOURS_PAGE }, call);
      found.push(...page.filter((row) => row.id !== id && isLive(row, now)));
      if (page.length < NEIGHBOURS_PAGE) return found;
      after = page.at(-1)!.id;
    }
  };

  /** What has to give way to an artifact of this size; `LIMIT_EXCEEDED` when nothing may or would suffice. */
  const evictionFor = async (scope: CheckedScope, id: string, sizeBytes: number, call: EngineCall) => {
    const { owner, sessionId, traceId } = scope;
    const session = sessionId === null ? null : await neighbours(owner, { sessionId }, id, call);
    const trace = traceId === null ? null : await neighbours(owner, { traceId }, id, call);
    return planEviction(sizeBytes, { session, trace }, context.retention);
  };

  /** Writes the reference and removes what gives way to it. The bytes are stored already. */
  const refer = async (
    intent: Intent,
    id: string,
    sha256: string,
    sizeBytes: number,
    evict: string[],
    call: EngineCall,
  ) => {
    const { scope, ttlMs, mimeType, filename, namespace, source } = intent;
    const { owner, ...parts } = scope;
    const now = context.clock();
    const stored = await engine.getRef(owner, id, call);
    const createdAt = stored && isLive(stored, now) ? stored.createdAt : now;
    const expiresAt = ttlMs === null ? null : now + ttlMs;
    const times = { createdAt, accessedAt: now, expiresAt };
    const encoded = encodeSource(payloads, owner, id, sha256, source);
    const about = { sizeBytes, mimeType, filename, ...parts, namespace, source: encoded, ...times };
    const row: ArtifactRow = { id, sha256: storedNameOf(payloads, owner, sha256), ...about };
    await engine.putRef(owner, row, call);
    for (const evicted of evict) await engine.deleteRef(owner, evicted, call);
    return refOf(owner, row);
  };

  const putWhole = async (method: string, input: unknown, bytes: Uint8Array, options: PutArtifactOptions) => {
    const intent = checkIntent(context, checkScope(view, options.scope), options);
    checkArtifactSize(bytes.length, context.retention);
    const sha256 = sha256Hex(bytes);
    const id = idOf(intent, sha256);
    return context.write(options, { method, args: [input, resendable(options)] }, async (call) => {
      const evict = await evictionFor(intent.scope, id, bytes.length, call);
      const { owner } = intent.scope;
      await engine.putBlob(owner, storedForm(payloads, owner, chunksOf(bytes, sha256)), call);
      return refer(intent, id, sha256, bytes.length, evict, call);
    });
  };

  /** The reference of bytes that are about to be read; notes the use where it counts. */
  const findForUse = async (id: string, scope: CheckedScope, call: EngineCall): Promise<ArtifactRow | null> => {
    const row = await find(id, scope, call);
    const now = context.clock();
    if (row !== null && context.retention.strategy === 'lru' && now > row.accessedAt) {
      await engine.touchRef(scope.owner, id, now, call);
    }
    return row;
  };

  return {
    async putBytes(bytes, options = {}) {
      if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes', 'a Uint8Array', bytes ?? null);
      // A copy: what the caller does with its bytes meanwhile must not part them from their hash.
      return putWhole('putBytes', bytes, new Uint8Array(bytes), options);
    },

    async putText(text, options = {}) {
      if (typeof text !== 'string' || !text.isWellFormed()) {
        throw invalidArgument(
          'text',
          'well-formed Unicode text',
          typeof text === 'string' ? undefined : (text ?? null),
        );
      }
      return putWhole('putText', text, Buffer.from(text), { mimeType: 'text/plain', ...options });
    },

    async putStream(chunks, options = {}) {
      if (typeof chunks?.[Symbol.asyncIterator] !== 'function') {
        throw invalidArgument('chunks', 'an async iterable of Uint8Array', chunks ?? null);
      }
      const intent = checkIntent(context, checkScope(view, options.scope), options);
      const source = new HashedChunks(chunks, (sizeBytes) => checkArtifactSize(sizeBytes, context.retention));
      return context.write(options, { method: 'putStream', args: [resendable(options)] }, async (call) => {
        const { owner } = intent.scope;
        await engine.putBlob(owner, storedForm(payloads, owner, source), call);
        const sha256 = source.sha256();
        const id = idOf(intent, sha256);
        // Only now is the size known; bytes that are refused here have no reference and go with the next sweep.
        const evict = await evictionFor(intent.scope, id, source.sizeBytes, call);
        return refer(intent, id, sha256, source.sizeBytes, evict, call);
      });
    },

    async get(id, access) {
      checkId(id, 'id');
      const scope = checkScope(view, access?.scope);
      return context.read(access, async (call) => {
        const row = await findForUse(id, scope, call);
        if (row === null) return null;
        const bytes = new Uint8Array(row.sizeBytes);
        let filled = 0;
        for await (const chunk of readBlob(payloads, engine, scope.owner, row, call)) {
          bytes.set(chunk, filled);
          filled += chunk.length;
        }
        return bytes;
      });
    },

    async getStream(id, access) {
      checkId(id, 'id');
      const scope = checkScope(view, access?.scope);
      const row = await context.read(access, (call) => findForUse(id, scope, call));
      return row && boundedChunks(context, access, (call) => readBlob(payloads, engine, scope.owner, row, call));
    },

    async getRef(id, access) {
      return lookUp(id, access, (row, owner) => refOf(owner, row));
    },

    async exists(id, access) {
      return (await lookUp(id, access, () => true)) !== null;
    },

    async delete(id, access) {
      checkId(id, 'id');
      const scope = checkScope(view, access?.scope);
      const write = { method: 'delete', args: [id, { scope: access?.scope }] };
      return context.write(access, write, async (call) => {
        const row = await find(id, scope, call);
        return row !== null && (await engine.deleteRef(scope.owner, id, call));
      });
    },

    async list(scope, options) {
      const checked = checkScope(view, scope);
      const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
      let after = cursorKey('artifacts', options?.cursor);
      const rows = await context.read(options, async (call) => {
        const found: ArtifactRow[] = [];
        const now = context.clock();
        while (found.length <= limit) {
          const page = await engine.listRefs(checked.owner, matchOf(checked), { after, limit: limit + 1 }, call);
          found.push(...page.filter((row) => isLive(row, now)));
          if (page.length <= limit) break;
          after = page.at(-1)!.id;
        }
        return found;
      });
      return pageOf(
        'artifacts',
        rows,
        limit,
        (row) => row.id,
        (row) => refOf(checked.owner, row),
      );
    },

    async sweep(options) {
      const graceMs = checkOptionalDuration(options?.grace, 'grace', DEFAULT_GRACE_MS);
      const write = { method: 'sweep', args: [{ grace: graceMs }] };
      return context.write(options, write, (call) =>
        engine.sweep(confined ? tenantId : null, context.clock(), graceMs, call),
      );
    },
  };
}

function checkIntent(context: StoreContext, scope: CheckedScope, options: PutArtifactOptions): Intent {
  const { ttl, filename } = options;
  const ttlMs = ttl === undefined ? context.retention.ttlMs : ttl === null ? null : checkDuration(ttl, 'ttl');
  return {
    scope,
    mimeType: checkMimeType(options.mimeType),
    filename: filename === undefined || filename === null ? null : checkText(filename, 'filename', MAX_NAME_BYTES),
    namespace: checkOptionalId(options.namespace, 'namespace'),
    source: encodeJsonObject(options.source ?? {}, 'source', context.limits.documentBytes),
    ttlMs,
  };
}

function checkMimeType(mimeType: unknown): string | null {
  if (mimeType === undefined || mimeType === null) return null;
  if (typeof mimeType === 'string' && mimeType.length <= MAX_NAME_BYTES && MIME_TYPE.test(mimeType)) return mimeType;
  throw invalidArgument('mimeType', `a type such as text/plain of at most ${MAX_NAME_BYTES} characters`, mimeType);
}

/** The same for the same bytes in the same scope and namespace; JSON keeps the parts apart. */
function idOf({ scope, namespace }: Intent, sha256: string): string {
  const { scopeTenantId, userId, sessionId, traceId } = scope;
  const identity = JSON.stringify([scopeTenantId, userId, sessionId, traceId, namespace, sha256]);
  return `art_${sha256Hex(identity).slice(0, 40)}`;
}

/** The bytes of a reference; what does not agree with its size or hash is refused rather than given. */
async function* readBlob(
  payloads: Payloads,
  engine: ArtifactEngine,
  owner: string,
  row: ArtifactRow,
  call: EngineCall,
): AsyncGenerator<Uint8Array> {
  const { sha256 } = describeBlob(payloads, owner, row);
  const chunks = await engine.getBlob(owner, row.sha256, call);
  if (chunks === null) throw corrupt(sha256);
  const decoded = isEnvelope(row.source) ? decodeChunks(payloads, owner, chunks) : chunks;
  yield* verified(decoded, { sha256, sizeBytes: row.sizeBytes });
}

/** Bytes as they are stored; their own hash stays that of the plain ones. */
function storedForm(payloads: Payloads, owner: string, source: BlobSource): BlobSource {
  if (payloads.codec === null) return source;
  const { chunks } = new HashedChunks(encodeChunks(payloads, owner, source.chunks), () => {});
  return { chunks, sha256: () => storedNameOf(payloads, owner, source.sha256()) };
}

/** Options without what bounds a single call. */
function resendable({ signal: _, timeoutMs: __, ...options }: PutArtifactOptions): PutArtifactOptions {
  return options;
}

function referenceOf(row: ArtifactRow, { sha256, source }: BlobDescription): ArtifactRef {
  return {
    id: row.id,
    mimeType: row.mimeType,
    sizeBytes: row.sizeBytes,
    filename: row.filename,
    sha256,
    scope: scopeOf(row),
    namespace: row.namespace,
    source,
    createdAt: timeText(row.createdAt),
    expiresAt: row.expiresAt === null ? null : timeText(row.expiresAt),
  };
}
