/** A request body of lines that is produced while it is sent. */

export interface LineBody {
  stream: ReadableStream<Uint8Array>;
  /** Throws the error of the items, if they failed. The lines that precede the error have been sent. */
  check(): void;
}

/** Writes each item as JSON on a line of its own. */
export function linesBody(items: AsyncIterable<unknown> | Iterable<unknown>): LineBody {
  const encoder = new TextEncoder();
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
      } catch (error) {
        failure = { error };
        controller.close();
      }
    },
    async cancel() {
      await iterator.return?.();
    },
  });
  return {
    stream,
    check() {
      if (failure) throw failure.error;
    },
  };
}
