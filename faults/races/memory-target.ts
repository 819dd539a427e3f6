/** An archive target in memory that takes a few milliseconds to write, like an object store. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ArchiveTarget } from '@tidemark/runtime';
import type { Random } from '../random.ts';

const MAX_WRITE_MS = 8;

export function memoryTarget(random: Random): ArchiveTarget {
  const files = new Map<string, Uint8Array[]>();
  return {
    async put(name, content) {
      const chunks = await Array.fromAsync(content);
      await sleep(random.between(0, MAX_WRITE_MS));
      files.set(name, chunks);
    },
    async get(name) {
      const chunks = files.get(name);
      return chunks ? streamOf(chunks) : null;
    },
    async *list(prefix) {
      for (const name of [...files.keys()]) if (name.startsWith(prefix)) yield name;
    },
    delete: async (name) => files.delete(name),
  };
}

async function* streamOf(chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
