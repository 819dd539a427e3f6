/**
 * How adapters store serialised values in a kv record: as a list of typed byte strings, optionally compressed, split
 * into fields that fit the limit of the store.
 */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { TidemarkError } from '../contracts/errors.ts';

/** A serialised value: the name of its format, and its bytes. */
export interface Frame {
  type: string;
  bytes: Uint8Array;
}

export interface FrameOptions {
  /** Compresses the frames if they have at least 1 KiB and compression makes them smaller. */
  compress?: boolean;
}

const PLAIN = 0;
const BROTLI = 1;
const COMPRESS_FROM = 1024;
/** Protects readers from a small record that decompresses to more than the available memory. */
const UNPACK_LIMIT = 512 * 1024 * 1024;
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Combines frames into one byte string. */
export function packFrames(frames: readonly Frame[], { compress = false }: FrameOptions = {}): Buffer {
  const parts: Buffer[] = [Buffer.of(PLAIN)];
  for (const { type, bytes } of frames) {
    const name = Buffer.from(type, 'utf8');
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32BE(name.length, 0);
    lengths.writeUInt32BE(bytes.length, 4);
    parts.push(lengths, name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
  const packed = Buffer.concat(parts);
  if (!compress || packed.length < COMPRESS_FROM) return packed;
  const small = brotliCompressSync(packed.subarray(1), QUALITY);
  return small.length + 1 < packed.length ? Buffer.concat([Buffer.of(BROTLI), small]) : packed;
}

/** Splits a byte string into its frames. The frames share its memory unless it was compressed. */
export function unpackFrames(packed: Uint8Array): Frame[] {
  const all = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const body =
    all[0] === BROTLI ? brotliDecompressSync(all.subarray(1), { maxOutputLength: UNPACK_LIMIT }) : all.subarray(1);
  if (all[0] !== PLAIN && all[0] !== BROTLI) throw corrupt('its first byte names no format');
  const frames: Frame[] = [];
  for (let at = 0; at < body.length; ) {
    const typeEnd = at + 8 + (at + 8 <= body.length ? body.readUInt32BE(at) : Number.POSITIVE_INFINITY);
    const end = typeEnd + (typeEnd <= body.length ? body.readUInt32BE(at + 4) : 0);
    if (!(end <= body.length)) throw corrupt('it ends within a frame');
    frames.push({ type: body.toString('utf8', at + 8, typeEnd), bytes: body.subarray(typeEnd, end) });
    at = end;
  }
  return frames;
}

/**
 * Splits bytes into fields of at most `size` bytes: `name`, `name.1`, `name.2`, …. The first field starts with the
 * number of fields, so that a reader can detect a missing one.
 */
export function cutIntoFields(name: string, bytes: Uint8Array, size: number): Record<string, Uint8Array> {
  const count = Math.max(1, Math.ceil((bytes.length + 4) / size));
  const whole = Buffer.concat([Buffer.alloc(4), bytes]);
  whole.writeUInt32BE(count, 0);
  const fields = Object.create(null) as Record<string, Uint8Array>;
  for (let at = 0; at < count; at++) fields[fieldName(name, at)] = whole.subarray(at * size, (at + 1) * size);
  return fields;
}

/** Joins the bytes that `cutIntoFields` split. Returns `null` if the record does not contain all of them. */
export function joinFields(name: string, fields: Record<string, Uint8Array>): Uint8Array | null {
  const first = fields[name];
  if (first === undefined) return null;
  if (first.length < 4) throw corrupt('its first field is too short');
  const count = Buffer.from(first.buffer, first.byteOffset, 4).readUInt32BE(0);
  const body = first.subarray(4);
  if (count === 1) return body;
  const parts: Uint8Array[] = [body];
  for (let at = 1; at < count; at++) {
    const part = fields[fieldName(name, at)];
    if (part === undefined) throw corrupt(`its field ${JSON.stringify(fieldName(name, at))} is missing`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function fieldName(name: string, at: number): string {
  return at === 0 ? name : `${name}.${at}`;
}

function corrupt(rule: string): TidemarkError {
  return new TidemarkError('CORRUPT_VALUE', `A value that an adapter stored is damaged: ${rule}`, { rule });
}
