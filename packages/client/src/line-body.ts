/** A body of lines that is made while it is sent. */

export interface LineBody {
  stream: ReadableStream<Uint8Array>;
  /** Throws what the items threw, if they did: the lines before it were sent. */
  check(): void;
}

/** The JSON of each item on a line of its own. */
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
