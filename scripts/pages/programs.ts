/**
 * The programs of a page. A block that starts with an import starts a program, and the following blocks continue it.
 * Comments after `console.log` calls, and `text` blocks, show the output.
 */
import { type Block, blocksOf } from './blocks.ts';

export interface Program {
  /** The page and the first line, such as `docs/jobs.md:8`. */
  title: string;
  /** The code, with empty lines in place of the prose, so that line numbers are those of the page. */
  code: string;
  /** The output shown on the page. Absent if the page shows none. */
  output?: string;
}

const PROGRAM_LANGUAGES = ['ts', 'js'];
const PRINTED = /^(.*console\.log\(.*\);?) \/\/ (.*)$/gm;

/** Returns the programs of a page. Skips blocks that name a file, because they belong to a tutorial. */
export function programsOf(path: string, text: string): Program[] {
  const programs: { blocks: Block[]; output: string[] }[] = [];
  for (const block of blocksOf(text)) {
    const current = programs.at(-1);
    if (PROGRAM_LANGUAGES.includes(block.language) && block.file === undefined) {
      const output = printedBy(block.code);
      if (current === undefined || block.code.startsWith('import ')) programs.push({ blocks: [block], output });
      else {
        current.blocks.push(block);
        current.output.push(...output);
      }
    } else if (block.language === 'text') current?.output.push(block.code);
  }
  return programs.map(({ blocks, output }) => ({
    title: `${path}:${blocks[0]!.line}`,
    code: withLineNumbersOfPage(blocks),
    ...(output.length === 0 ? {} : { output: output.join('') }),
  }));
}

/** Returns the lines that the comments of a block show as output. */
function printedBy(code: string): string[] {
  return [...code.matchAll(PRINTED)].map(({ 2: text }) => `${text!}\n`);
}

function withLineNumbersOfPage(blocks: readonly Block[]): string {
  let code = '';
  for (const block of blocks) {
    const lines = code.split('\n').length;
    code += '\n'.repeat(block.line - lines) + block.code;
  }
  return code;
}
