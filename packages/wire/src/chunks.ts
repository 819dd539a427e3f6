/** Reads the chunks of a body without `for await`, because not every browser can iterate over a `ReadableStream`. */

/** Called when a wait for the next chunk begins and ends. */
export interface ChunkWatch {
  begin?(): void;
  end(): void;
}

/** Yields the chunks of a body, and cancels the body when the reader stops early. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  watch?: ChunkWatch,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (;;) {
      watch?.begin?.();
      const { value, done } = await reader.read().finally(() => watch?.end());
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
