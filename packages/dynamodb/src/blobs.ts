/**
 * The blobs primitive on DynamoDB: each chunk is an item under the id of its upload, and each blob is an item that
 * names its upload. Every upload is registered until it is used or discarded, so that interrupted uploads can be
 * removed.
 */
import { randomUUID } from 'node:crypto';
import { TidemarkError } from '@tidemark/core';
import {
  type BlobInfo,
  type BlobSource,
  type Blobs,
  type ChunkRange,
  corruptValue,
  type EngineCall,
  type StagedBlob,
  sumBytes,
  sumNames,
} from '@tidemark/core/engine';
import type { Client, Item } from './client.ts';
import { endOfPrefix, joined, keyOf, keyOfItem } from './keys.ts';
import { HIGHEST, LOWEST, readPartition } from './partitions.ts';

/** How long an upload that was neither used nor discarded is kept. */
const UPLOAD_LIVES_MS = 3_600_000;
const MAX_UPLOADS = 100;
const BLOBS = joined('b', 'blobs');
const UPLOADS = joined('b', 'uploads');

interface Upload {
  id: string;
  tenantId: string;
  chunks: number;
  startedAt: number;
}

export class DynamoDbBlobs implements Blobs {
  readonly #client: Client;
  readonly #clock: () => number;

  constructor({ client, clock }: { client: Client; clock: () => number }) {
    this.#client = client;
    this.#clock = clock;
  }

  async stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBlob> {
    const upload: Upload = { id: randomUUID(), tenantId, chunks: 0, startedAt: this.#clock() };
    let size = 0;
    await this.#client.putAll('records', [uploadItem(upload)], call);
    try {
      for await (const chunk of source.chunks) {
        if (chunk.length > 0) await this.#client.putAll('records', [chunkItem(upload, chunk)], call);
        if (chunk.length > 0) upload.chunks++;
        size += chunk.length;
      }
    } catch (error) {
      await this.#discard(upload, call).catch(() => {});
      throw error;
    }
    const sha256 = source.sha256();
    return {
      keep: (call) => this.#keep(upload, sha256, size, call),
      discard: (call) => this.#discardUnused(upload, sha256, call),
    };
  }

  async #keep(upload: Upload, sha256: string, size: number, call: EngineCall): Promise<boolean> {
    const TableName = this.#client.table('records');
    const key = blobKey(upload.tenantId, sha256);
    for (;;) {
      const renewed = { t: { N: String(this.#clock()) }, v: { S: randomUUID() } };
      const stored = await this.#client.get('records', key, call);
      if (stored) {
        const input = {
          Key: key,
          UpdateExpression: 'SET t = :t, v = :v',
          ConditionExpression: 'v = :w',
          ExpressionAttributeValues: { ':t': renewed.t, ':v': renewed.v, ':w': stored.v! },
        };
        const isOwn = (it: Item) => it.v?.S === renewed.v.S;
        if ((await this.#client.write({ table: 'records', input }, { isIn: isOwn }, call)).done) return true;
        continue;
      }
      const owner = { o: { S: upload.tenantId }, k: { S: sha256 }, g: { S: upload.id } };
      const Item = { ...key, ...owner, ...renewed, z: { N: String(size) }, n: { N: String(upload.chunks) } };
      const isNew = { ConditionExpression: 'attribute_not_exists(p)' };
      const isRegistered = { ConditionExpression: 'attribute_exists(p) AND attribute_not_exists(x)' };
      const outcome = await this.#client.transact(
        [{ Put: { TableName, Item, ...isNew } }, { Delete: { TableName, Key: uploadKey(upload), ...isRegistered } }],
        call,
      );
      if (outcome.done) return true;
      // Either a sweep removed the upload, or the blob that used its bytes was removed.
      if (outcome.failed[1]) return false;
    }
  }

  /** Removes the chunks of an upload unless a blob uses them. */
  async #discardUnused(upload: Upload, sha256: string, call: EngineCall): Promise<void> {
    if (await this.#discard(upload, call)) return;
    // The upload is no longer registered: either a blob uses the chunks, or a sweep has removed the chunks that it
    // found.
    const stored = await this.#client.get('records', blobKey(upload.tenantId, sha256), call);
    if (stored?.g?.S !== upload.id) await this.#removeChunks(upload.tenantId, upload.id, call);
  }

  /**
   * Removes a registered upload. Marks the upload first, so that it cannot become a blob while its chunks are removed.
   * Returns false when the upload is not registered.
   */
  async #discard(upload: Upload, call: EngineCall): Promise<boolean> {
    const input = {
      Key: uploadKey(upload),
      UpdateExpression: 'SET x = :x',
      ConditionExpression: 'attribute_exists(p)',
      ExpressionAttributeValues: { ':x': { BOOL: true } },
    };
    if (!(await this.#client.write({ table: 'records', input }, { isIn: () => false }, call)).done) return false;
    await this.#removeChunks(upload.tenantId, upload.id, call);
    await this.#client.deleteAll('records', [uploadKey(upload)], call);
    return true;
  }

  async #removeChunks(tenantId: string, id: string, call: EngineCall): Promise<void> {
    const range = { from: LOWEST, to: HIGHEST, keysOnly: true };
    for await (const items of readPartition(this.#client, 'records', chunkPartition(tenantId, id), range, call))
      await this.#client.deleteAll('records', items.map(keyOfItem), call);
  }

  async get(
    tenantId: string,
    sha256: string,
    range: ChunkRange,
    call: EngineCall,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const blob = await this.#client.get('records', blobKey(tenantId, sha256), call);
    return blob ? this.#chunks(tenantId, blob, range, call) : null;
  }

  async *#chunks(
    tenantId: string,
    blob: Item,
    { from, to }: ChunkRange,
    call: EngineCall,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const id = blob.g!.S!;
    for (let at = from; at < Math.min(to, Number(blob.n!.N)); at++) {
      const item = await this.#client.get('records', keyOf(chunkPartition(tenantId, id), chunkKey(at)), call);
      if (!item) throw new TidemarkError('UNAVAILABLE', 'The bytes were removed while they were read');
      const bytes = item.b!.B!;
      if (Number(item.c!.N) !== chunkSum(id, at, bytes)) throw corruptValue('artifact chunk', String(at));
      yield bytes;
    }
  }

  async info(tenantId: string, hashes: readonly string[], call: EngineCall): Promise<BlobInfo[]> {
    if (hashes.length === 0) return [];
    const keys = hashes.map((sha256) => blobKey(tenantId, sha256));
    return (await this.#client.getMany('records', keys, call)).filter((item) => item !== undefined).map(infoOf);
  }

  async list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]> {
    const position = after && joined(after.tenantId, after.sha256);
    const found: BlobInfo[] = [];
    const range = { from: position ?? LOWEST, to: HIGHEST, page: limit + 1 };
    for await (const items of readPartition(this.#client, 'records', BLOBS, range, call)) {
      for (const item of items) if (!position?.equals(item.s!.B!)) found.push(infoOf(item));
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  async remove(
    { tenantId, sha256, version }: Pick<BlobInfo, 'tenantId' | 'sha256' | 'version'>,
    call: EngineCall,
  ): Promise<boolean> {
    const key = blobKey(tenantId, sha256);
    const stored = await this.#client.get('records', key, call);
    if (stored?.v?.S !== version) return false;
    const id = stored.g!.S!;
    const TableName = this.#client.table('records');
    const unchanged = {
      ConditionExpression: 'v = :v',
      ExpressionAttributeValues: { ':v': { S: version } },
    };
    // The blob's upload is registered again, so that a sweep removes it if this process cannot.
    const upload = { id, tenantId, chunks: 0, startedAt: this.#clock() - UPLOAD_LIVES_MS };
    const { done } = await this.#client.transact(
      [
        { Delete: { TableName, Key: key, ...unchanged } },
        { Put: { TableName, Item: { ...uploadItem(upload), x: { BOOL: true } } } },
      ],
      call,
    );
    if (done) await this.#discard(upload, call).catch(() => {});
    return done;
  }

  /** Removes the interrupted uploads of a tenant. */
  async clear(tenantId: string, call: EngineCall): Promise<void> {
    const prefix = joined(tenantId, '');
    await this.#removeUploads({ from: prefix, to: endOfPrefix(prefix)! }, this.#clock(), call);
  }

  /** Removes uploads that were started long ago and never used. */
  async removeStaged(call: EngineCall): Promise<number> {
    return this.#removeUploads({ from: LOWEST, to: HIGHEST }, this.#clock() - UPLOAD_LIVES_MS, call);
  }

  async #removeUploads(range: { from: Buffer; to: Buffer }, startedBy: number, call: EngineCall): Promise<number> {
    let removed = 0;
    const pages = readPartition(this.#client, 'records', UPLOADS, { ...range, page: MAX_UPLOADS }, call);
    for await (const items of pages)
      for (const { o, k, t } of items) {
        if (Number(t!.N) > startedBy) continue;
        if (await this.#discard({ id: k!.S!, tenantId: o!.S!, chunks: 0, startedAt: 0 }, call)) removed++;
      }
    return removed;
  }
}

function infoOf({ o, k, z, t, v }: Item): BlobInfo {
  const age = { renewedAt: Number(t!.N), version: v!.S! };
  return { tenantId: o!.S!, sha256: k!.S!, sizeBytes: Number(z!.N), ...age };
}

function blobKey(tenantId: string, sha256: string): Item {
  return keyOf(BLOBS, joined(tenantId, sha256));
}

function uploadKey({ tenantId, id }: Pick<Upload, 'tenantId' | 'id'>): Item {
  return keyOf(UPLOADS, joined(tenantId, id));
}

function uploadItem(upload: Upload): Item {
  const { id, tenantId, startedAt } = upload;
  return { ...uploadKey(upload), o: { S: tenantId }, k: { S: id }, t: { N: String(startedAt) } };
}

function chunkItem({ tenantId, id, chunks }: Upload, bytes: Uint8Array): Item {
  const sum = { N: String(chunkSum(id, chunks, bytes)) };
  return { ...keyOf(chunkPartition(tenantId, id), chunkKey(chunks)), b: { B: bytes }, c: sum };
}

function chunkPartition(tenantId: string, id: string): Buffer {
  return joined('b', 'chunks', tenantId, id);
}

function chunkKey(at: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(at, 1);
  return bytes;
}

function chunkSum(id: string, at: number, bytes: Uint8Array): number {
  return sumBytes(bytes, sumNames(['chunk', id, String(at)])) >>> 0;
}
