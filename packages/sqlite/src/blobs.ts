/**
 * Large blobs in a directory next to the database. A file's name is a hash of tenant and content, so callers cannot
 * choose it. Files appear, whole and synced, and disappear only inside a write transaction, of which there is one at a
 * time.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TidemarkError } from '@tidemark/core';
import { BLOCK_BYTES, BlockSums, type ChunkRange, corruptValue, matchesBlock, sha256Hex } from '@tidemark/core/engine';
import type { LargeBlobs } from '@tidemark/sql';

/** The directory for uploads in progress. */
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
          const target = blobFile(directory, tenantId, source.sha256());
          await makeDirectory(dirname(target));
          return moveInto(path, target);
        },
        discard: () => rm(path, { force: true }),
      };
    },

    async get(tenantId, sha256, sums, range) {
      const path = blobFile(directory, tenantId, sha256);
      return (await isThere(path)) ? readFile(path, sums, range) : null;
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

/**
 * The file name is derived from tenant and content; its first two letters are the directory, so that none grows too
 * large.
 */
export function blobFile(directory: string, tenantId: string, sha256: string): string {
  const name = sha256Hex(`${tenantId}\0${sha256}`);
  return join(directory, name.slice(0, 2), name);
}

/** Writes a new file and syncs it. Leaves no file if the source fails. */
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

/** Yields the blocks of a range of a file, each after it was compared with its checksum. */
async function* readFile(path: string, sums: Uint8Array | null, { from, to }: ChunkRange): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error) => Promise.reject(translate(error, path)));
  try {
    for (let block = from; block < to; block++) {
      const bytes = await readBlock(file, block);
      if (bytes.length === 0) return;
      if (sums !== null && !matchesBlock(sums, block, bytes)) throw corruptValue('artifact file', path);
      yield bytes;
      if (bytes.length < BLOCK_BYTES) return;
    }
  } finally {
    await file.close();
  }
}

/** Reads a whole block, or less at the end of the file. */
async function readBlock(file: FileHandle, block: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  let filled = 0;
  while (filled < BLOCK_BYTES) {
    const { bytesRead } = await file.read(buffer, filled, BLOCK_BYTES - filled, block * BLOCK_BYTES + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Renames durably. Returns false when `from` does not exist. */
async function moveInto(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
  } catch (error) {
    if (isMissing(error)) return false;
    // Windows cannot replace a file that is being read. The same bytes are already there.
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
  // Windows cannot open a directory, and journals file names itself.
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

/** Translates file system errors. Failures of the source pass unchanged. */
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
