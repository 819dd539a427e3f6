/** Lines of JSON out of a stream of bytes. */

/** The values of the lines, as they are complete. */
export async function* jsonLinesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of stream) {
    const pieces = decoder.decode(chunk, { stream: true }).split('\n');
    const last = pieces.pop()!;
    for (const piece of pieces) {
      const line = rest.join('') + piece;
      rest = [];
      if (line !== '') yield JSON.parse(line);
    }
    rest.push(last);
  }
  const line = rest.join('');
  if (line !== '') yield JSON.parse(line);
}
