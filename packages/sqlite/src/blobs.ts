/**
 * Large blobs in a directory beside the database. A file's name is a hash of tenant and content and of nothing a caller
 * can choose. A file appears whole and synced, and goes, only inside a write transaction, of which there is one at a time.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TidemarkError } from '@tidemark/core';
import { corruptValue, sha256Hex } from '@tidemark/core/engine';
import type { LargeBlobs } from '@tidemark/sql';
import { BLOCK_BYTES, BlockSums, matches } from './block-sums.ts';

/** Where uploads under way are written. */
const STAGING = 'staging';

export function directoryBlobs(directory: string): LargeBlobs {
  const staging = join(directory, STAGING);

  return {
    async stage(source) {
      await makeDirectory(staging);
      const path = join(staging, randomUUID());
      const { sizeBytes, sums } = await writeSynced(path, source.chunks);
      return {
        sizeBytes,
        sums,
        async place(tenantId) {
          const place = blobFile(directory, tenantId, source.sha256());
          await makeDirectory(dirname(place));
          return moveInto(path, place);
        },
        discard: () => rm(path, { force: true }),
      };
    },

    async get(tenantId, sha256, sums) {
      const path = blobFile(directory, tenantId, sha256);
      return (await isThere(path)) ? readFile(path, sums) : null;
    },

    async remove(tenantId, sha256) {
      const path = blobFile(directory, tenantId, sha256);
      try {
        await rm(path);
        await syncDirectory(dirname(path));
      } catch (error) {
        if (!isMissing(error)) throw translate(error, path);
      }
    },

    async removeLeft(olderThanMs) {
      const names = await readdir(staging).catch(unlessMissing<string[]>([]));
      for (const name of names) {
        const path = join(staging, name);
        const age = await stat(path).then(({ ctimeMs }) => Date.now() - ctimeMs, unlessMissing(0));
        if (age > olderThanMs) await rm(path, { force: true });
      }
    },
  };
}

/** Tenant and content, and two letters of them for a directory, so that none grows too large. */
export function blobFile(directory: string, tenantId: string, sha256: string): string {
  const name = sha256Hex(`${tenantId}\0${sha256}`);
  return join(directory, name.slice(0, 2), name);
}

/** Writes a new file and syncs it; a source that fails leaves none. */
async function writeSynced(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ sizeBytes: number; sums: Uint8Array }> {
  const file = await open(path, 'wx', 0o600);
  let sizeBytes = 0;
  const sums = new BlockSums();
  try {
    for await (const chunk of chunks) {
      await file.writeFile(chunk);
      sums.add(chunk);
      sizeBytes += chunk.length;
    }
    await file.sync();
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw translate(error, path);
  }
  await file.close();
  return { sizeBytes, sums: sums.end() };
}

/** The bytes of a file, none of which is returned before its block matches its checksum. */
async function* readFile(path: string, sums: Uint8Array | null): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error) => Promise.reject(translate(error, path)));
  try {
    for (let block = 0; ; block++) {
      const bytes = await readBlock(file);
      if (bytes.length === 0) return;
      if (sums !== null && !matches(sums, block, bytes)) throw corruptValue('artifact file', path);
      yield bytes;
      if (bytes.length < BLOCK_BYTES) return;
    }
  } finally {
    await file.close();
  }
}

/** A whole block, unless the file ends in it. */
async function readBlock(file: FileHandle): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  let filled = 0;
  while (filled < BLOCK_BYTES) {
    const { bytesRead } = await file.read(buffer, filled, BLOCK_BYTES - filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** A rename that a power cut does not take back; false when there is nothing to move. */
async function moveInto(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
  } catch (error) {
    if (isMissing(error)) return false;
    // Windows does not replace a file that somebody reads; the same bytes are there already.
    if (process.platform === 'win32' && (await isThere(to))) return true;
    throw translate(error, to);
  }
  await syncDirectory(dirname(to));
  return true;
}

async function makeDirectory(path: string): Promise<void> {
  const created = await mkdir(path, { recursive: true, mode: 0o700 });
  if (created !== undefined) await syncDirectory(dirname(created));
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory, and journals its names by itself.
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(() => true, unlessMissing(false));
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function unlessMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return value;
    throw error;
  };
}

/** What the file system's own errors mean to a caller; failures of the source pass unchanged. */
function translate(error: unknown, path: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new TidemarkError('STORAGE_FULL', `The disk of ${path} is full; nothing was stored. Free some space`, {
      cause: error,
    });
  }
  return new TidemarkError('STORAGE_ERROR', `${path} cannot be read or written: ${(error as Error).message}`, {
    cause: error,
  });
}
