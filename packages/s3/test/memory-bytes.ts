/** A byte store in memory, shared by all stores of a test, so that the logic above S3 is tested on every machine. */
import type { ByteStore } from '@tidemark/core/engine';

export class MemoryBytes implements ByteStore {
  readonly location = 'memory';
  readonly objects = new Map<string, Uint8Array>();

  async put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const chunk of chunks) pieces.push(new Uint8Array(chunk));
    if (this.objects.has(name)) throw new Error(`${name} is written twice`);
    this.objects.set(name, Buffer.concat(pieces));
  }

  async get(name: string, start: number, end: number): Promise<AsyncIterable<Uint8Array> | null> {
    const bytes = this.objects.get(name);
    return bytes === undefined ? null : once(new Uint8Array(bytes.subarray(start, end)));
  }

  async remove(name: string): Promise<void> {
    this.objects.delete(name);
  }

  async examine() {
    return [];
  }

  async close(): Promise<void> {}
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
