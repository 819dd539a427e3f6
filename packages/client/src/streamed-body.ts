/** A request body that is produced while it is sent. */

export interface StreamedBody {
  stream: ReadableStream<Uint8Array>;
  /** Throws the error of the chunks, if they failed. `fetch` would replace it with a different error. */
  check(): void;
}

/** `onFailure` ends a body whose chunks failed: `close` sends the chunks before the failure, `error` cuts the request. */
export function streamedBody(chunks: AsyncGenerator<Uint8Array>, onFailure: 'close' | 'error'): StreamedBody {
  let failure: { error: unknown } | undefined;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        failure = { error };
        controller[onFailure](error);
      }
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
  return {
    stream,
    check() {
      if (failure) throw failure.error;
    },
  };
}
