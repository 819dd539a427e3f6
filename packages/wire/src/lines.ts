/** Splits a stream of bytes into lines. */

/** Yields each line once it is complete. A last line without a newline is a line too. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Yields the parsed JSON value of each line that is not empty. */
export async function* jsonLinesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of linesOf(stream)) if (line !== '') yield JSON.parse(line);
}
