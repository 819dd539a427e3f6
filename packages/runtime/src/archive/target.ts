/** Where archives lie: a place that keeps whole files by name, such as a directory or a bucket of an object store. */

export interface ArchiveTarget {
  /** Stores a file whole or not at all, in place of one of the same name. Durable once it resolves. */
  put(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** The bytes of a file; `null` where there is none. */
  get(name: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** Names of whole files that begin so, in any order. */
  list(prefix: string): AsyncIterable<string>;
  /** Tells whether there was one. */
  delete(name: string): Promise<boolean>;
}

/** The whole content of a small file as text; `null` where there is none. */
export async function readText(target: ArchiveTarget, name: string): Promise<string | null> {
  const content = await target.get(name);
  return content && Buffer.concat(await Array.fromAsync(content)).toString();
}

export async function writeText(target: ArchiveTarget, name: string, text: string): Promise<void> {
  await target.put(
    name,
    (async function* () {
      yield Buffer.from(text);
    })(),
  );
}
