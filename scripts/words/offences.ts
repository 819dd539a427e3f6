/** Finds the avoided phrases in comments, test titles and pages. */
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { commentPassages, SCRIPTS, SOURCE_ENDINGS, titlePassages } from './comments.ts';
import { markdownPassages } from './markdown.ts';
import { lineAt, type Passage } from './passages.ts';
import { PHRASES } from './phrases.ts';

export interface Offence {
  /** Relative to the root of the repository. */
  path: string;
  line: number;
  /** The phrase with a few words around it. */
  words: string;
  write: string;
}

const FOLDERS = 'packages,scripts,faults,bench,examples,clients,docs';
const FILES = `*.{md,${SOURCE_ENDINGS}}`;
const SKIPPED = new Set(['node_modules', 'dist', '.venv']);
/** Characters of context that a finding shows on each side. */
const CONTEXT = 25;

/** Returns the files with prose under the given files and folders, or all of the repository. */
function proseFiles(root: string, paths: readonly string[]): string[] {
  const patterns = paths.length === 0 ? [FILES, `{${FOLDERS}}/**/${FILES}`] : paths.map((path) => within(root, path));
  return globSync(patterns, { cwd: root, exclude: (name) => SKIPPED.has(name) }).sort();
}

function within(root: string, path: string): string {
  return statSync(join(root, path)).isDirectory() ? `${path.replace(/\/$/, '')}/**/${FILES}` : path;
}

function passagesOf(path: string, text: string): Passage[] {
  if (path.endsWith('.md')) return markdownPassages(text);
  const titles = SCRIPTS.has(path.slice(path.lastIndexOf('.') + 1)) ? titlePassages(path, text) : [];
  return [...commentPassages(path, text), ...titles];
}

/** Returns the offences of one file in order of their lines. */
export function offencesIn(path: string, text: string): Offence[] {
  const passages = passagesOf(path, text);
  const offences = passages.flatMap((passage) =>
    PHRASES.filter((phrase) => phrase.in !== 'doc' || passage.isDoc).flatMap(({ pattern, write }) =>
      [...passage.text.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map(({ index, 0: match }) => ({
        path,
        // A match may start with the full stop of the previous sentence.
        line: lineAt(passage, index + match.search(/\w/)),
        words: passage.text.slice(Math.max(0, index - CONTEXT), index + match.length + CONTEXT),
        write,
      })),
    ),
  );
  return offences.sort((a, b) => a.line - b.line);
}

/** Returns the offences of files, by default of all files. */
export function offencesOf(root: string, paths: readonly string[] = []): Offence[] {
  return proseFiles(root, paths).flatMap((path) => offencesIn(path, readFileSync(join(root, path), 'utf8')));
}
