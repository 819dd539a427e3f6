/** Writes a new file atomically: to a temporary file beside it, synced, then renamed. */
import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { invalidArgument } from '@tidemark/core';

export async function writeWholeFile(path: string, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  if (existsSync(path)) throw invalidArgument('--to', 'the name of a file that does not exist yet', path);
  const unfinished = `${path}.unfinished`;
  await rm(unfinished, { force: true });
  const file = await open(unfinished, 'wx', 0o600);
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
