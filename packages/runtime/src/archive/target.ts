/** Storage for archives. It keeps whole files by name, for example in a directory or in a bucket of an object store. */

export interface ArchiveTarget {
  /**
   * Stores a file completely or not at all, replacing a file of the same name. The file is durable once the promise
   * resolves.
   */
  put(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Returns the bytes of a file, or `null` if it does not exist. */
  get(name: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** Yields the names of complete files with a prefix, in any order. */
  list(prefix: string): AsyncIterable<string>;
  /** Deletes a file. Returns whether it existed. */
  delete(name: string): Promise<boolean>;
}

/** Returns the content of a small file as text, or `null` if it does not exist. */
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
