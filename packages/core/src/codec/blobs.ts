/**
 * Artifacts through a codec: bytes are encoded chunk by chunk, each framed with how; what a reference says of them is
 * kept encoded in its source. Their stored form has a name of its own, so that it never meets the same bytes stored plain.
 */
import { decodeJson } from '../checks/json.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import type { JsonObject } from '../contracts/common.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';
import { sha256Hex } from '../hash.ts';
import { bufferOf, envelopeOf, isEnvelope, isSteps } from './envelope.ts';
import { codecFailed } from './failure.ts';
import { type Payloads, plain } from './payloads.ts';
import { withSum } from './summed-text.ts';

const LENGTHS_BYTES = 8;
/** Far above what a chunk can take: a damaged length must not ask for gigabytes. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** What a reference says of its bytes. */
export interface BlobDescription {
  /** Of the plain bytes. */
  sha256: string;
  source: JsonObject;
}

/** The hash that names the stored form of bytes. */
export function storedNameOf({ codec }: Payloads, tenantId: string, sha256: string): string {
  return codec === null ? sha256 : sha256Hex(JSON.stringify(['tidemark-stored-1', codec.formOf(tenantId), sha256]));
}

/** A reference as it is described and summed: all but its source, and the time of its last use, which moves by itself. */
type DescribedRow = Omit<ArtifactRow, 'source' | 'accessedAt'>;

/** The source to store, from its JSON text; with a codec it carries the hash of the plain bytes too. */
export function encodeSource(
  payloads: Payloads,
  tenantId: string,
  row: DescribedRow,
  sha256: string,
  source: string,
): string {
  const place = artifactContext(tenantId, row.id);
  if (payloads.codec === null) return withSum(source, place, besideOf(row));
  const text = `{"sha256":"${sha256}","source":${source}}`;
  return withSum(envelopeOf(payloads.codec.encode(plain(Buffer.from(text)), place)), place, besideOf(row));
}

export function describeBlob(
  payloads: Payloads,
  tenantId: string,
  row: DescribedRow & { source: string },
): BlobDescription {
  const text = payloads.open(row.source, artifactContext(tenantId, row.id), besideOf(row));
  return isEnvelope(row.source) ? decodeJson(text) : { sha256: row.sha256, source: decodeJson(text) };
}

/** Throws `CORRUPT_VALUE` when a reference is not what was stored. Needs no key. */
export function checkReference(payloads: Payloads, tenantId: string, row: DescribedRow & { source: string }): void {
  payloads.check(row.source, artifactContext(tenantId, row.id), besideOf(row));
}

/** What a reference holds beside its source, for the sum of both. */
function besideOf(row: DescribedRow): string {
  const { sha256, sizeBytes, mimeType, filename, scopeTenantId, userId, sessionId, traceId } = row;
  const { namespace, createdAt, expiresAt } = row;
  const scope = [scopeTenantId, userId, sessionId, traceId, namespace];
  return JSON.stringify([sha256, sizeBytes, mimeType, filename, ...scope, createdAt, expiresAt]);
}

function artifactContext(tenantId: string, id: string): PayloadContext {
  return { tenantId, kind: 'artifact', owner: id };
}

/** Chunks do not know the artifact they belong to, which several share: the hash of the whole ties them to it. */
function chunkPlace(tenantId: string, index: number): PayloadContext {
  return { tenantId, kind: 'artifact-bytes', owner: 'chunk', item: String(index) };
}

/** The stored form of chunks. */
export async function* encodeChunks(
  payloads: Payloads,
  tenantId: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let index = 0;
  for await (const chunk of chunks) {
    const { steps, keyId, data } = payloads.codec!.encode(plain(chunk), chunkPlace(tenantId, index++));
    const header = Buffer.from(JSON.stringify([steps, keyId]));
    const lengths = Buffer.alloc(LENGTHS_BYTES);
    lengths.writeUInt32BE(header.length, 0);
    lengths.writeUInt32BE(data.length, 4);
    yield Buffer.concat([lengths, header, data]);
  }
}

/** The plain chunks of a stored form, however an engine has cut it. */
export async function* decodeChunks(
  payloads: Payloads,
  tenantId: string,
  stored: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let pending: Buffer = Buffer.alloc(0);
  let index = 0;
  for await (const piece of stored) {
    pending = pending.length === 0 ? bufferOf(piece) : Buffer.concat([pending, piece]);
    for (;;) {
      const place = chunkPlace(tenantId, index);
      const end = endOfFrame(pending, place);
      if (end === null || end > pending.length) break;
      yield decodeFrame(payloads, pending.subarray(0, end), place);
      pending = pending.subarray(end);
      index++;
    }
  }
  if (pending.length > 0) throw damaged(chunkPlace(tenantId, index));
}

function endOfFrame(bytes: Buffer, place: PayloadContext): number | null {
  if (bytes.length < LENGTHS_BYTES) return null;
  const length = LENGTHS_BYTES + bytes.readUInt32BE(0) + bytes.readUInt32BE(4);
  if (length > MAX_FRAME_BYTES) throw damaged(place);
  return length;
}

function decodeFrame(payloads: Payloads, frame: Buffer, place: PayloadContext): Uint8Array {
  const from = LENGTHS_BYTES + frame.readUInt32BE(0);
  const [steps, keyId] = headerOf(frame.toString('utf8', LENGTHS_BYTES, from));
  if (!isSteps(steps) || !(keyId === null || typeof keyId === 'string')) throw damaged(place);
  return payloads.bytesOf({ steps, keyId, data: frame.subarray(from) }, place);
}

function headerOf(text: string): unknown[] {
  try {
    const header: unknown = JSON.parse(text);
    return Array.isArray(header) ? header : [];
  } catch {
    return [];
  }
}

function damaged(place: PayloadContext) {
  return codecFailed(place, 'its stored form is damaged', null);
}
