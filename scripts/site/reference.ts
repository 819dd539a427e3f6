/** The API reference: an entry for each exported name of a published package, with its comment, signature and examples. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { publishedEntries } from '../api/entries.ts';
import { type ExportedName, readSurface } from '../api/surface.ts';
import { blocksOf } from '../pages/blocks.ts';
import { type Example, readExamples } from '../tsdoc/examples.ts';

/** An entry of the reference. */
export interface ReferenceEntry {
  name: string;
  /** The source file that declares it. */
  file: string;
  /** The module to import it from, the first that exports it. */
  specifier: string;
  isType: boolean;
  declaration: string;
  /** The comment as Markdown, without its tags. */
  comment: string;
  /** The codes and conditions after `@throws`. */
  throws: string[];
  /**
   * Examples of the name or its members. Without any, an example that uses the name, or of a call that takes or returns
   * it.
   */
  examples: Shown[];
}

/** Modules for engine authors and for the kit, and the types of all other modules, are in the API report only. */
export const LEFT_OUT: readonly string[] = [
  ...['@tidemark/core', '@tidemark/core/adapters', '@tidemark/core/engine', '@tidemark/core/portable'],
  ...['@tidemark/sql', '@tidemark/conformance', '@tidemark/cli', 'tidemark/engine', 'tidemark/contracts'],
];
const SOURCES = ['packages/*/src/**/*.ts'];
const GUIDES = 'docs/{guide,operations,coming-from}/*.md';

/** Returns the entries, by module and name. */
export function readReference(root: string): ReferenceEntry[] {
  const published = publishedEntries(root);
  const surface = readSurface(
    root,
    published.map(({ file }) => file),
  );
  const entries = published.filter(({ specifier }) => !LEFT_OUT.includes(specifier));
  const comments = new Comments(root);
  const examples = readExamples(root, SOURCES);
  const seen = new Set<string>();
  const found: ReferenceEntry[] = [];
  for (const { specifier, file } of entries.sort((a, b) => rank(a.specifier) - rank(b.specifier))) {
    for (const name of surface.get(file)!) {
      const id = `${name.file}#${name.name}`;
      if (seen.has(id)) continue;
      seen.add(id);
      found.push({
        ...{ name: name.name, file: name.file, specifier, isType: name.isType, declaration: name.declaration },
        ...comments.of(name),
        examples: [],
      });
    }
  }
  const shown = [
    ...examples.map(({ title, code }) => ({ title: title.split(': ')[1]!, code })),
    ...blocksOfGuides(root),
  ];
  const calls = callsByName([...surface.values()].flat().map(({ declaration }) => declaration));
  for (const entry of found) entry.examples = examplesOf(entry, comments, examples, shown, calls);
  spread(found);
  return found;
}

/** Readers import from `tidemark` first. */
function rank(specifier: string): number {
  return specifier === 'tidemark' ? 0 : specifier.startsWith('tidemark/') ? 1 : 2;
}

/** An example in a comment or on a page. */
interface Shown {
  title: string;
  code: string;
}

function examplesOf(
  { name }: ReferenceEntry,
  comments: Comments,
  examples: readonly Example[],
  shown: readonly Shown[],
  callsOf: ReadonlyMap<string, ReadonlySet<string>>,
): Shown[] {
  const lines = comments.linesOf(name);
  const own = examples.filter(({ file, line }) =>
    lines.some((it) => it.file === file && line >= it.from && line <= it.to),
  );
  if (own.length > 0) return own.map(({ title, code }) => ({ title: title.split(': ')[1]!, code }));
  const word = new RegExp(`\\b${name}\\b`);
  const direct = shown.find(({ code }) => word.test(code));
  if (direct) return [direct];
  const calls = [...(callsOf.get(name) ?? [])];
  const using = shown.find(({ code }) => calls.some((call) => new RegExp(`\\b${call}\\(`).test(code)));
  return using ? [using] : [];
}

/** Returns, for each name, the functions and members whose signature mentions it. */
function callsByName(declarations: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (call: string, signature: string) => {
    for (const [name] of signature.matchAll(/\b[A-Z]\w+/g)) found.set(name, (found.get(name) ?? new Set()).add(call));
  };
  const visit = (node: ts.Node): void => {
    const { name } = node as { name?: ts.Node };
    const isCall = ts.isFunctionDeclaration(node) || ts.isMethodSignature(node) || ts.isMethodDeclaration(node);
    if (name && (isCall || ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)))
      add(name.getText(), node.getText());
    ts.forEachChild(node, visit);
  };
  for (const text of declarations) visit(ts.createSourceFile('declaration.ts', text, ts.ScriptTarget.Latest, true));
  return found;
}

/** Copies examples to entries without any, from an entry whose declaration mentions them, until nothing changes. */
function spread(entries: readonly ReferenceEntry[]): void {
  for (let changed = true; changed; ) {
    changed = false;
    for (const entry of entries.filter(({ examples }) => examples.length === 0)) {
      const word = new RegExp(`\\b${entry.name}\\b`);
      const user = entries.find(({ examples, declaration }) => examples.length > 0 && word.test(declaration));
      const used = entries.find(
        ({ examples, name }) => examples.length > 0 && entry.declaration.includes(`extends ${name}`),
      );
      const [example] = (user ?? used)?.examples ?? [];
      if (example === undefined) continue;
      entry.examples = [example];
      changed = true;
    }
  }
}

/** Returns the blocks of the guides, which a test runs. */
function blocksOfGuides(root: string): Shown[] {
  return globSync(GUIDES, { cwd: root })
    .sort()
    .flatMap((path) =>
      blocksOf(readFileSync(join(root, path), 'utf8'))
        .filter(({ language, file }) => language === 'ts' && file === undefined)
        .map(({ code }) => ({ title: basename(path, '.md'), code })),
    );
}

/** Reads the comments and positions of declarations from the sources. */
class Comments {
  readonly #root: string;
  readonly #parsed = new Map<string, ts.SourceFile>();
  readonly #declared = new Map<string, { file: string; from: number; to: number }[]>();

  constructor(root: string) {
    this.#root = root;
  }

  of({ name, file }: ExportedName): { comment: string; throws: string[] } {
    const source = this.#sourceOf(file);
    const declarations = source.statements.filter((it) => nameOf(it) === name);
    for (const it of declarations) {
      const lines = { file, from: lineOf(source, it.getFullStart()), to: lineOf(source, it.end) };
      this.#declared.set(name, [...(this.#declared.get(name) ?? []), lines]);
    }
    const docs = declarations.flatMap((it) => ts.getJSDocCommentsAndTags(it).filter(ts.isJSDoc));
    const tags = docs.flatMap(({ tags: its = [] }) => [...its]).filter(({ tagName }) => tagName.text === 'throws');
    return {
      comment: docs.map((it) => ts.getTextOfJSDocComment(it.comment) ?? '').join('\n\n'),
      throws: tags.map((it) => ts.getTextOfJSDocComment(it.comment) ?? ''),
    };
  }

  linesOf(name: string): { file: string; from: number; to: number }[] {
    return this.#declared.get(name) ?? [];
  }

  #sourceOf(file: string): ts.SourceFile {
    const known = this.#parsed.get(file);
    if (known) return known;
    const text = ts.sys.readFile(join(this.#root, file)) ?? '';
    const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    this.#parsed.set(file, parsed);
    return parsed;
  }
}

function lineOf(source: ts.SourceFile, position: number): number {
  return source.getLineAndCharacterOfPosition(position).line + 1;
}

function nameOf(statement: ts.Statement): string | undefined {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations[0]?.name.getText();
  return (statement as { name?: ts.Node }).name?.getText();
}
