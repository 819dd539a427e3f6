/**
 * The blobs primitive on Redis: a list of pieces per blob. The pieces are uploaded under a temporary key, and one
 * script renames that key.
 */
import { TidemarkError } from '@tidemark/core';
import {
  type BlobInfo,
  type BlobSource,
  type Blobs,
  CHUNK_BYTES,
  type ChunkRange,
  corruptValue,
  type EngineCall,
  type StagedBlob,
  sumBytes,
  sumNames,
} from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import type { Layout } from './layout.ts';
import { excluded, type LexicalRange, mergeLexical } from './lexical.ts';
import { ADD_PIECE, KEEP_BLOB, REMOVE_BLOB } from './scripts.ts';
import { StagedPieces, UPLOAD_LIVES_MS } from './staged-pieces.ts';

class RedisBlobs implements Blobs {
  readonly #commands: Commands;
  readonly #layout: Layout;

  constructor(commands: Commands, layout: Layout) {
    this.#commands = commands;
    this.#layout = layout;
  }

  async stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBlob> {
    const pieces = new StagedPieces(this.#commands, this.#layout, tenantId);
    let size = 0;
    try {
      for await (const chunk of source.chunks) {
        // Redis has no empty lists.
        if (chunk.length > 0) await pieces.add(chunk, call);
        size += chunk.length;
      }
    } catch (error) {
      await pieces.discard(call).catch(() => {});
      throw error;
    }
    const sha256 = source.sha256();
    return {
      keep: async (call) => {
        const keys = this.#keys(tenantId, sha256);
        // Stored bytes keep the checksums with which they were first stored.
        if (await this.#keep(keys, size, '', call)) return true;
        const sums = await this.#upload(keys, pieces, (at, piece) => pieceSum(tenantId, sha256, at, piece), call);
        return sums !== null && (await this.#keep(keys, size, sums.join(' '), call));
      },
      discard: (call) => pieces.discard(call),
    };
  }

  /**
   * Uploads the pieces and returns their checksums, or `null` when pieces have expired because the upload took too
   * long.
   */
  async #upload(
    { bucket, upload }: BlobKeys,
    pieces: StagedPieces,
    sumOf: (at: number, piece: Uint8Array) => string,
    call: EngineCall,
  ): Promise<string[] | null> {
    const sums: string[] = [];
    for await (const piece of pieces.read(call)) {
      if (piece === null) return null;
      const args = [String(sums.length), Buffer.from(piece), String(UPLOAD_LIVES_MS)];
      if ((await this.#commands.write(bucket, ADD_PIECE, [upload], args, call)) !== 1) return null;
      sums.push(sumOf(sums.length, piece));
    }
    return sums;
  }

  async #keep(keys: BlobKeys, size: number, sums: string, call: EngineCall): Promise<boolean> {
    const { bucket, info, bytes, upload, blobs, member } = keys;
    const names = [info, bytes, upload, blobs];
    const args = [member, String(size), crypto.randomUUID(), sums];
    return (await this.#commands.write(bucket, KEEP_BLOB, names, args, call)) === 1;
  }

  async get(
    tenantId: string,
    sha256: string,
    range: ChunkRange,
    call: EngineCall,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const keys = this.#keys(tenantId, sha256);
    const reply = await this.#commands.read(keys.bucket, ['HMGET', keys.info, 'size', 'sums'], call);
    const [size, sums] = reply as (Buffer | null)[];
    if (!size) return null;
    const isIntact = (at: number, piece: Uint8Array) =>
      !sums || sums.toString('latin1').split(' ')[at] === pieceSum(tenantId, sha256, at, piece);
    return this.#pieces(keys, Number(size), range, isIntact, call);
  }

  async *#pieces(
    { bucket, bytes }: BlobKeys,
    size: number,
    { from, to }: ChunkRange,
    isIntact: (at: number, piece: Uint8Array) => boolean,
    call: EngineCall,
  ): AsyncGenerator<Uint8Array> {
    for (let at = from, read = from * CHUNK_BYTES; at < to && read < size; at++) {
      const piece = (await this.#commands.read(bucket, ['LINDEX', bytes, String(at)], call)) as Buffer | null;
      if (!piece) throw new TidemarkError('UNAVAILABLE', 'The bytes were removed while they were read');
      if (!isIntact(at, piece)) throw corruptValue('artifact chunk', String(at));
      read += piece.length;
      yield piece;
    }
  }

  async info(tenantId: string, hashes: readonly string[], call: EngineCall): Promise<BlobInfo[]> {
    const found = await Promise.all(hashes.map((sha256) => this.#info(memberOf(tenantId, sha256), call)));
    return found.filter((info) => info !== null);
  }

  async list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]> {
    const from = after && excluded(memberOf(after.tenantId, after.sha256));
    const range: LexicalRange = { from, to: null, order: 'ascending' };
    const key = (bucket: number) => this.#layout.shared(bucket, 'blobs');
    const merge = mergeLexical(this.#commands, this.#layout.buckets, key, range, limit, call);
    const found: BlobInfo[] = [];
    while (found.length < limit) {
      const wanted = limit - found.length;
      const members = await merge.take(wanted);
      const infos = await Promise.all(members.map((member) => this.#info(member.toString(), call)));
      found.push(...infos.filter((info) => info !== null));
      if (members.length < wanted) break;
    }
    return found;
  }

  async #info(member: string, call: EngineCall): Promise<BlobInfo | null> {
    const [tenantId, sha256] = member.split('\0') as [string, string];
    const { bucket, info } = this.#keys(tenantId, sha256);
    const reply = await this.#commands.read(bucket, ['HMGET', info, 'size', 'renewedAt', 'version'], call);
    const [size, renewedAt, version] = reply as (Buffer | null)[];
    if (!size) return null;
    const age = { renewedAt: Number(renewedAt), version: `${renewedAt} ${version ?? ''}` };
    return { tenantId, sha256, sizeBytes: Number(size), ...age };
  }

  async remove(
    { tenantId, sha256, version }: Pick<BlobInfo, 'tenantId' | 'sha256' | 'version'>,
    call: EngineCall,
  ): Promise<boolean> {
    const { bucket, info, bytes, blobs, member } = this.#keys(tenantId, sha256);
    return (await this.#commands.write(bucket, REMOVE_BLOB, [info, bytes, blobs], [member, version], call)) === 1;
  }

  /** There is nothing to clear once the blobs are removed, because interrupted uploads expire automatically. */
  async clear(): Promise<void> {}

  #keys(tenantId: string, sha256: string): BlobKeys {
    const bucket = this.#layout.bucketOf(tenantId, sha256);
    return {
      bucket,
      info: `${this.#layout.tenants(bucket, 'blob', tenantId)}:${sha256}`,
      bytes: `${this.#layout.tenants(bucket, 'blob-bytes', tenantId)}:${sha256}`,
      upload: `${this.#layout.tenants(bucket, 'blob-upload', tenantId)}:${sha256}:${crypto.randomUUID()}`,
      blobs: this.#layout.shared(bucket, 'blobs'),
      member: memberOf(tenantId, sha256),
    };
  }
}

interface BlobKeys {
  bucket: number;
  info: string;
  bytes: string;
  upload: string;
  blobs: string;
  member: string;
}

function pieceSum(tenantId: string, sha256: string, at: number, piece: Uint8Array): string {
  return (sumBytes(piece, sumNames(['piece', tenantId, sha256, String(at)])) >>> 0).toString(36);
}

function memberOf(tenantId: string, sha256: string): string {
  return `${tenantId}\0${sha256}`;
}

export function redisBlobs(commands: Commands, layout: Layout): Blobs {
  return new RedisBlobs(commands, layout);
}
