/**
 * Artifacts through a codec: bytes are encoded chunk by chunk, each in a frame that lists its codec steps. The hash of
 * the plain bytes is encoded in the reference's source. Encoded bytes are stored under their own name, so that they
 * never collide with the same bytes stored plain.
 */
import { decodeJson } from '../checks/json.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import type { JsonObject } from '../contracts/common.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';
import { sha256Hex } from '../hash.ts';
import { bufferOf, formatEnvelope, isEnvelope, isSteps } from './envelope.ts';
import { codecFailed } from './failure.ts';
import { type Payloads, plain } from './payloads.ts';
import { withSum } from './summed-text.ts';

const LENGTHS_BYTES = 8;
/** Far above the size of any chunk. Prevents a damaged length from allocating gigabytes. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** The description of an artifact's bytes in its reference. */
export interface BlobDescription {
  /** Hash of the plain bytes. */
  sha256: string;
  source: JsonObject;
}

/** Returns the hash under which the encoded bytes are stored. */
export function storedNameOf({ codec }: Payloads, tenantId: string, sha256: string): string {
  return codec === null ? sha256 : sha256Hex(JSON.stringify(['tidemark-stored-1', codec.formOf(tenantId), sha256]));
}

/** The fields of a reference that its checksum covers: all but its source and its last access time, which changes. */
type DescribedRow = Omit<ArtifactRow, 'source' | 'accessedAt'>;

/** Returns the source to store for its JSON text. With a codec it also contains the hash of the plain bytes. */
export function encodeSource(
  payloads: Payloads,
  tenantId: string,
  row: DescribedRow,
  sha256: string,
  source: string,
): string {
  const context = artifactContext(tenantId, row.id);
  if (payloads.codec === null) return withSum(source, context, otherFields(row));
  const text = `{"sha256":"${sha256}","source":${source}}`;
  return withSum(formatEnvelope(payloads.codec.encode(plain(Buffer.from(text)), context)), context, otherFields(row));
}

export function describeBlob(
  payloads: Payloads,
  tenantId: string,
  row: DescribedRow & { source: string },
): BlobDescription {
  const text = payloads.open(row.source, artifactContext(tenantId, row.id), otherFields(row));
  return isEnvelope(row.source) ? decodeJson(text) : { sha256: row.sha256, source: decodeJson(text) };
}

/** Throws `CORRUPT_VALUE` when a reference does not match its checksum. Needs no key. */
export function checkReference(payloads: Payloads, tenantId: string, row: DescribedRow & { source: string }): void {
  payloads.check(row.source, artifactContext(tenantId, row.id), otherFields(row));
}

/** Returns the other fields of a reference as text, for the checksum of its source. */
function otherFields(row: DescribedRow): string {
  const { sha256, sizeBytes, mimeType, filename, scopeTenantId, userId, sessionId, traceId } = row;
  const { namespace, createdAt, expiresAt } = row;
  const scope = [scopeTenantId, userId, sessionId, traceId, namespace];
  return JSON.stringify([sha256, sizeBytes, mimeType, filename, ...scope, createdAt, expiresAt]);
}

function artifactContext(tenantId: string, id: string): PayloadContext {
  return { tenantId, kind: 'artifact', owner: id };
}

/**
 * The context of a chunk has no artifact id, since artifacts share chunks. The hash of all bytes binds them instead.
 */
function chunkContext(tenantId: string, index: number): PayloadContext {
  return { tenantId, kind: 'artifact-bytes', owner: 'chunk', item: String(index) };
}

/** Yields the stored form of each chunk. */
export async function* encodeChunks(
  payloads: Payloads,
  tenantId: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let index = 0;
  for await (const chunk of chunks) {
    const { steps, keyId, data } = payloads.codec!.encode(plain(chunk), chunkContext(tenantId, index++));
    const header = Buffer.from(JSON.stringify([steps, keyId]));
    const lengths = Buffer.alloc(LENGTHS_BYTES);
    lengths.writeUInt32BE(header.length, 0);
    lengths.writeUInt32BE(data.length, 4);
    yield Buffer.concat([lengths, header, data]);
  }
}

/**
 * Yields the plain chunks of a stored form, from chunk `from` onwards. The engine may return the stored form in pieces
 * of any size. Chunks before `from` are read but not decoded, because stored sizes vary.
 */
export async function* decodeChunks(
  payloads: Payloads,
  tenantId: string,
  stored: AsyncIterable<Uint8Array>,
  from = 0,
): AsyncGenerator<Uint8Array> {
  let pending: Buffer = Buffer.alloc(0);
  let index = 0;
  for await (const piece of stored) {
    pending = pending.length === 0 ? bufferOf(piece) : Buffer.concat([pending, piece]);
    for (;;) {
      const context = chunkContext(tenantId, index);
      const end = endOfFrame(pending, context);
      if (end === null || end > pending.length) break;
      if (index >= from) yield decodeFrame(payloads, pending.subarray(0, end), context);
      pending = pending.subarray(end);
      index++;
    }
  }
  if (pending.length > 0) throw damaged(chunkContext(tenantId, index));
}

function endOfFrame(bytes: Buffer, context: PayloadContext): number | null {
  if (bytes.length < LENGTHS_BYTES) return null;
  const length = LENGTHS_BYTES + bytes.readUInt32BE(0) + bytes.readUInt32BE(4);
  if (length > MAX_FRAME_BYTES) throw damaged(context);
  return length;
}

function decodeFrame(payloads: Payloads, frame: Buffer, context: PayloadContext): Uint8Array {
  const from = LENGTHS_BYTES + frame.readUInt32BE(0);
  const [steps, keyId] = parseHeader(frame.toString('utf8', LENGTHS_BYTES, from));
  if (!isSteps(steps) || !(keyId === null || typeof keyId === 'string')) throw damaged(context);
  return payloads.bytesOf({ steps, keyId, data: frame.subarray(from) }, context);
}

function parseHeader(text: string): unknown[] {
  try {
    const header: unknown = JSON.parse(text);
    return Array.isArray(header) ? header : [];
  } catch {
    return [];
  }
}

function damaged(context: PayloadContext) {
  return codecFailed(context, 'its stored form is damaged', null);
}
