/** Passages of prose: comments and Markdown paragraphs as single lines of text, with the file line of every word. */

/** A comment or paragraph without its markup. Code between backticks is replaced by `…`, so that identifiers are not prose. */
export interface Passage {
  text: string;
  /** Whether the passage is a doc comment (TSDoc or a Python docstring), which opens with a verb. */
  isDoc: boolean;
  /** The offset in `text` at which each file line starts. */
  lines: { offset: number; line: number }[];
}

/** One line of a passage. */
export interface ProseLine {
  line: number;
  text: string;
}

const CODE = /`[^`]+`/g;

/** Joins lines into one passage. Returns none if the lines contain no words. */
export function joinLines(proseLines: readonly ProseLine[], isDoc: boolean): Passage[] {
  const lines: Passage['lines'] = [];
  let text = '';
  for (const { line, text: added } of withoutCode(proseLines)) {
    const words = added.trim().replaceAll(/\s+/g, ' ');
    if (words === '') continue;
    if (text !== '') text += ' ';
    lines.push({ offset: text.length, line });
    text += words;
  }
  return text === '' ? [] : [{ text, isDoc, lines }];
}

/** Code that continues on the next line keeps its line breaks, so that later lines keep their numbers. */
function withoutCode(proseLines: readonly ProseLine[]): ProseLine[] {
  const masked = proseLines
    .map(({ text }) => text)
    .join('\n')
    .replaceAll(CODE, (code) => `\`…\`${'\n'.repeat(code.split('\n').length - 1)}`);
  const texts = masked.split('\n');
  return proseLines.map(({ line }, at) => ({ line, text: texts[at]! }));
}

/** Returns the file line of a position in a passage. */
export function lineAt({ lines }: Passage, position: number): number {
  return lines.findLast(({ offset }) => offset <= position)!.line;
}
