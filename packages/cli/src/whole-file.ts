/** Writes a new file atomically: writes a temporary file next to it, syncs the temporary file and renames it. */
import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { invalidArgument } from '@tidemark/core';

type Chunks = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** Throws if the file exists. `field` is the argument that names the file. */
export function expectNoFile(path: string, field: string): void {
  if (existsSync(path)) throw invalidArgument(field, 'the name of a file that does not exist yet', path);
}

/** Writes a file that only its owner can read, unless another mode is given. */
export async function writeWholeFile(path: string, chunks: Chunks, mode = 0o600): Promise<void> {
  expectNoFile(path, '--to');
  const unfinished = `${path}.unfinished`;
  await rm(unfinished, { force: true });
  const file = await open(unfinished, 'wx', mode);
  try {
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
    await file.close();
    await rename(unfinished, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(unfinished, { force: true });
    throw error;
  }
}
