/** Bodies of journal entries: one line of JSON for what the engine needs, then the owner's text as it is. */

/** A header that any reader can take apart again without looking at the text. */
export function withHeader(header: readonly unknown[], text: string): string {
  return `${JSON.stringify(header)}\n${text}`;
}

/** The header and the text; JSON has no raw line ends, so the first one is the border. */
export function splitHeader<T extends readonly unknown[]>(body: string): { header: T; text: string } {
  const end = body.indexOf('\n');
  return { header: JSON.parse(body.slice(0, end)) as T, text: body.slice(end + 1) };
}
