/** Splits a stream of bytes into lines. */

/** Yields each non-empty line once it is complete. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of stream) {
    const pieces = decoder.decode(chunk, { stream: true }).split('\n');
    const last = pieces.pop()!;
    for (const piece of pieces) {
      const line = rest.join('') + piece;
      rest = [];
      if (line !== '') yield line;
    }
    rest.push(last);
  }
  const line = rest.join('');
  if (line !== '') yield line;
}

/** Yields the parsed JSON value of each line. */
export async function* jsonLinesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of linesOf(stream)) yield JSON.parse(line);
}
