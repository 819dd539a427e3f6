/** Stores artifacts: stages the bytes, stores them with their reference, then evicts the planned references. */
import { encodeJsonObject } from '../checks/json.ts';
import { checkDuration } from '../checks/numbers.ts';
import { checkOptionalId, checkText } from '../checks/text.ts';
import { encodeChunks, encodeSource, storedNameOf } from '../codec/blobs.ts';
import type { Payloads } from '../codec/payloads.ts';
import type { PutArtifactOptions } from '../contracts/artifacts.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { ArtifactEngine, ArtifactRow, BlobSource } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import { sha256Hex } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { chunksOf, HashedChunks } from './chunks.ts';
import { Eviction } from './eviction.ts';
import type { Candidate } from './retention.ts';
import { type CheckedScope, isLive } from './scopes.ts';

const MAX_NAME_BYTES = 255;
/** How often to stage bytes again after a sweep removed them as abandoned. */
const MAX_UPLOADS = 5;
const MIME_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *;[\x20-\x7e]*)?$/;

/** The properties of an artifact before its bytes are read. */
export interface Intent {
  scope: CheckedScope;
  mimeType: string | null;
  filename: string | null;
  namespace: string | null;
  source: string;
  ttlMs: number | null;
}

/** The properties of an artifact after its bytes are read. */
interface Content {
  id: string;
  sha256: string;
  sizeBytes: number;
}

export class Putting {
  readonly #context: StoreContext;
  readonly #engine: ArtifactEngine;
  readonly #eviction: Eviction;

  constructor(context: StoreContext, engine: ArtifactEngine) {
    this.#context = context;
    this.#engine = engine;
    this.#eviction = new Eviction(context, engine);
  }

  async whole(intent: Intent, bytes: Uint8Array, call: EngineCall): Promise<ArtifactRow> {
    const sha256 = sha256Hex(bytes);
    const content = { id: idOf(intent, sha256), sha256, sizeBytes: bytes.length };
    const planned = await this.#eviction.plan(intent.scope, content.id, bytes.length, call);
    for (let tries = 1; tries <= MAX_UPLOADS; tries++) {
      const row = await this.#put(intent, chunksOf(bytes, sha256), async () => [content, planned], call);
      if (row !== null) return row;
    }
    throw sweptUpload();
  }

  async stream(intent: Intent, source: HashedChunks, call: EngineCall): Promise<ArtifactRow> {
    const planned = async (): Promise<[Content, Candidate[]]> => {
      const sha256 = source.sha256();
      const content = { id: idOf(intent, sha256), sha256, sizeBytes: source.sizeBytes };
      return [content, await this.#eviction.plan(intent.scope, content.id, source.sizeBytes, call)];
    };
    const row = await this.#put(intent, source, planned, call);
    if (row === null) throw sweptUpload();
    return row;
  }

  /** Reads a source to its end and stores it. Returns `null` when a sweep removed the staged bytes. */
  async #put(
    intent: Intent,
    source: BlobSource,
    planned: () => Promise<[Content, Candidate[]]>,
    call: EngineCall,
  ): Promise<ArtifactRow | null> {
    const { scope } = intent;
    const staged = await this.#engine.stage(scope.owner, storedForm(this.#context.payloads, scope.owner, source), call);
    try {
      const [content, evicted] = await planned();
      const row = await this.#rowOf(intent, content, call);
      if (!(await staged.refer(row, call))) return null;
      await this.#eviction.carryOut(scope, row, evicted, call);
      return row;
    } finally {
      // If this fails, a sweep removes the bytes later.
      await staged.discard(call).catch(() => {});
    }
  }

  async #rowOf(intent: Intent, { id, sha256, sizeBytes }: Content, call: EngineCall): Promise<ArtifactRow> {
    const { scope, ttlMs, mimeType, filename, namespace, source } = intent;
    const { owner, ...parts } = scope;
    const { payloads } = this.#context;
    const now = this.#context.clock();
    const stored = await this.#engine.getRef(owner, id, call);
    const createdAt = stored && isLive(stored, now) ? stored.createdAt : now;
    const expiresAt = ttlMs === null ? null : now + ttlMs;
    const about = { sizeBytes, mimeType, filename, ...parts, namespace };
    const row = { id, sha256: storedNameOf(payloads, owner, sha256), ...about, createdAt, expiresAt };
    return { ...row, source: encodeSource(payloads, owner, row, sha256, source), accessedAt: now };
  }
}

export function checkIntent(context: StoreContext, scope: CheckedScope, options: PutArtifactOptions): Intent {
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

/** Returns the same id for the same bytes in the same scope and namespace. JSON separates the parts. */
function idOf({ scope, namespace }: Intent, sha256: string): string {
  const { scopeTenantId, userId, sessionId, traceId } = scope;
  const identity = JSON.stringify([scopeTenantId, userId, sessionId, traceId, namespace, sha256]);
  return `art_${sha256Hex(identity).slice(0, 40)}`;
}

/** Returns the bytes in stored form. The artifact's own hash remains the hash of the plain bytes. */
function storedForm(payloads: Payloads, owner: string, source: BlobSource): BlobSource {
  if (payloads.codec === null) return source;
  const { chunks } = new HashedChunks(encodeChunks(payloads, owner, source.chunks), () => {});
  return { chunks, sha256: () => storedNameOf(payloads, owner, source.sha256()) };
}

function sweptUpload(): TidemarkError {
  const message = 'A sweep removed the bytes before they were stored: the upload took longer than its grace period';
  return new TidemarkError('UNAVAILABLE', `${message}; nothing was stored, store it again`);
}
