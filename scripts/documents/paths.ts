/** Checks the paths and links of pages: each must refer to a file of the repository. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorsOf, codeWordsOf, linksOf } from './markdown.ts';

/** A word in code that starts with one of these folders is a path from the root of the repository. */
const FROM_ROOT = /^(?:packages|docs|scripts|faults|bench|examples|clients)\/[\w@./{},*<>-]+/;
/** Paths of files that belong to the reader start with `./`. */
const SOURCE_FILE = /^(?!\.\/)[\w@./{},*<>-]+\.(?:ts|tsx|js|cjs|sql|lua|md|py)$/;

/** A page of the repository. */
export interface Page {
  /** Relative to the root of the repository. */
  path: string;
  text: string;
}

/**
 * Returns a sentence for every path of a page that does not exist. With `everyFile`, every word that looks like a
 * source file is a path.
 */
export function missingPaths(root: string, { path, text }: Page, everyFile = false): string[] {
  const words = new Set(codeWordsOf(text).flatMap((word) => pathIn(word, everyFile) ?? []));
  return [...words]
    .filter((word) => !leadsSomewhere(root, word))
    .map((word) => `${path} names ${word}, which does not exist`);
}

function pathIn(word: string, everyFile: boolean): string | undefined {
  const found = FROM_ROOT.exec(word)?.[0] ?? (everyFile ? SOURCE_FILE.exec(word)?.[0] : undefined);
  return found?.replace(/[.,]+$/, '');
}

/**
 * `<engine>` stands for any name, `*` and `{a,b}` match as in a shell, and scripts are named without their extension.
 */
function leadsSomewhere(root: string, path: string): boolean {
  if (!/[<*{]/.test(path)) return existsSync(join(root, path)) || existsSync(join(root, `${path}.ts`));
  const pattern = path.replaceAll(/<[^>]*>/g, '*');
  return alternatives(pattern).every((one) => globSync(one, { cwd: root }).length > 0);
}

/** Expands `{a,b}`, because each of the names must exist. */
function alternatives(pattern: string): string[] {
  const [all, names] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (all === undefined) return [pattern];
  return names!.split(',').flatMap((name) => alternatives(pattern.replace(all, name)));
}

/** Returns a sentence for every link of a page whose file or heading does not exist. */
export function brokenLinks(root: string, { path, text }: Page): string[] {
  return linksOf(text).flatMap((link) => {
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : join(dirname(path), file);
    if (!existsSync(join(root, target))) return [`${path} links to ${link}, which does not exist`];
    if (anchor === undefined || anchorsOf(readFileSync(join(root, target), 'utf8')).has(anchor)) return [];
    return [`${path} links to ${link}, but ${target} has no such heading`];
  });
}
