/**
 * An archive in a directory. Each file is written under a temporary name, synced and renamed, and its directory is
 * synced.
 */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { invalidArgument } from '@tidemark/core';
import type { ArchiveTarget } from './target.ts';

/** Suffix of incomplete files; file names of the archive never have it. */
const UNFINISHED = '.unfinished';

/**
 * Creates an archive target in a directory. The directory is created if it is missing.
 *
 * @example
 * const archiver = createArchiver({ store, target: directoryTarget('archive') });
 * await store.runs.handle('order-42').append('RunCompleted');
 * await archiver.archiveRun('order-42');
 */
export function directoryTarget(path: string): ArchiveTarget {
  return new DirectoryTarget(resolve(path));
}

class DirectoryTarget implements ArchiveTarget {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const file = this.#pathTo(name);
    await this.#makeDirectory(dirname(file));
    const unfinished = `${file}.${crypto.randomUUID()}${UNFINISHED}`;
    try {
      await writeSynced(unfinished, content);
      await rename(unfinished, file);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    await syncDirectory(dirname(file));
  }

  async get(name: string): Promise<AsyncIterable<Uint8Array> | null> {
    const file = await open(this.#pathTo(name), 'r').catch(nothingThere);
    // Checks the open file, because the name may already refer to another file.
    if ((await file?.stat())?.isFile()) return file!.createReadStream() as AsyncIterable<Uint8Array>;
    await file?.close();
    return null;
  }

  async *list(prefix: string): AsyncIterable<string> {
    const start = prefix.includes('/') ? prefix.slice(0, prefix.lastIndexOf('/')) : '';
    for await (const file of filesIn(join(this.#root, start))) {
      const name = relative(this.#root, file).split(sep).join('/');
      if (name.startsWith(prefix) && !name.endsWith(UNFINISHED)) yield name;
    }
  }

  async delete(name: string): Promise<boolean> {
    const file = this.#pathTo(name);
    const wasThere = await rm(file).then(() => true, nothingThere);
    if (wasThere) await syncDirectory(dirname(file));
    return wasThere === true;
  }

  #pathTo(name: string): string {
    const isSafe = name
      .split('/')
      .every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/.test(part));
    if (isSafe && !name.endsWith(UNFINISHED)) return join(this.#root, name);
    throw invalidArgument('name', 'a relative path without . and ..', name);
  }

  /** Creates a directory and syncs its parent, because otherwise a power failure could lose the new directory. */
  async #makeDirectory(path: string): Promise<void> {
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let at = path; at.length >= first.length; at = dirname(at)) await syncDirectory(dirname(at));
  }
}

async function writeSynced(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open directories, so only the file is synced there.
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function* filesIn(directory: string): AsyncGenerator<string> {
  const entries = (await readdir(directory, { withFileTypes: true }).catch(nothingThere)) ?? [];
  for (const entry of entries) {
    const file = join(directory, entry.name);
    if (entry.isDirectory()) yield* filesIn(file);
    else yield file;
  }
}

function nothingThere(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
