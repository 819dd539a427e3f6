/** The fenced code blocks of a Markdown page. */

export interface Block {
  /** The language, such as `ts`; empty if the fence has none. */
  language: string;
  /** The word after the language: the name of the file that a tutorial tells its readers to create. */
  file?: string;
  /** The number of the first line of code, starting at 1. */
  line: number;
  code: string;
}

/** A block in a list has the list's indentation. */
const FENCED = /^( *)```([^\s`]*)(?: (\S+))?\n(.*?)^\1```$/gms;

/** Returns the fenced blocks of a page, in order. */
export function blocksOf(text: string): Block[] {
  return [...text.matchAll(FENCED)].map(({ 1: indent, 2: language, 3: file, 4: code, index }) => ({
    language: language!,
    ...(file === undefined ? {} : { file }),
    line: text.slice(0, index).split('\n').length + 1,
    code: code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
