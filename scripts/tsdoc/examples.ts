/** Collects the `@example` blocks of TSDoc comments. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export interface Example {
  /** The file and the declaration, such as `packages/core/src/contracts/kv.ts: swap`. */
  title: string;
  /** The source file, from the root. */
  file: string;
  /** The line of the `@example` tag. */
  line: number;
  code: string;
}

/** Returns the examples of all sources that match the patterns, without tests, in order of files and lines. */
export function readExamples(root: string, patterns: readonly string[]): Example[] {
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  return files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => examplesIn(file, readFileSync(join(root, file), 'utf8')));
}

/** Returns the examples of a source file. */
export function examplesIn(file: string, source: string): Example[] {
  if (!source.includes('@example')) return [];
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: Example[] = [];
  const visit = (node: ts.Node): void => {
    for (const comment of ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)) {
      const tags = comment.tags ?? [];
      for (const [at, tag] of tags.entries()) {
        if (tag.tagName.text !== 'example') continue;
        const end = tags[at + 1]?.getStart(parsed) ?? comment.end - '*/'.length;
        const line = parsed.getLineAndCharacterOfPosition(tag.getStart(parsed)).line + 1;
        const code = withoutStars(source.slice(tag.tagName.end, end));
        found.push({ title: `${file}: ${nameOf(node)}`, file, line, code });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

/** Returns the code of a block without the stars of the comment and without a code fence. */
function withoutStars(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
  return lines
    .filter((line) => !line.startsWith('```'))
    .join('\n')
    .trim();
}

/** Splits an example into its imports and the rest, in which empty lines keep the line numbers. */
export function withoutImports(code: string): { imports: string[]; code: string } {
  const imports = code.match(/^import .*;$/gm) ?? [];
  return { imports, code: code.replaceAll(/^import .*;$/gm, '') };
}

function nameOf(node: ts.Node): string {
  const { name } = node as { name?: ts.Node };
  return name?.getText() ?? 'unnamed';
}
