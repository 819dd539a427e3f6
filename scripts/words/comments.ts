/** Reads the comments of source files. TypeScript goes through its own parser, other languages through a small scanner. */
import ts from 'typescript';
import { joinLines, type Passage, type ProseLine } from './passages.ts';

interface Comment {
  start: number;
  /** With its delimiters. */
  text: string;
  isDoc: boolean;
  /** Whether the comment ends with its line; such comments on consecutive lines are one passage. */
  isLine: boolean;
}

/**
 * A stretch of source that the scanner skips or reads as a whole. `ends` may be escaped with a backslash in strings.
 */
interface Stretch {
  begins: string;
  ends: string;
  kind: 'line' | 'block' | 'string' | 'docstring';
}

const QUOTED: Stretch[] = [
  { begins: '"', ends: '"', kind: 'string' },
  { begins: "'", ends: "'", kind: 'string' },
];
const BLOCK: Stretch = { begins: '/*', ends: '*/', kind: 'block' };
const DASHES: Stretch = { begins: '--', ends: '\n', kind: 'line' };

/** The stretches of each language, with longer openings first. */
const LANGUAGES: Record<string, Stretch[]> = {
  py: [
    { begins: '"""', ends: '"""', kind: 'docstring' },
    { begins: "'''", ends: "'''", kind: 'docstring' },
    { begins: '#', ends: '\n', kind: 'line' },
    ...QUOTED,
  ],
  lua: [{ begins: '--[[', ends: ']]', kind: 'block' }, DASHES, ...QUOTED],
  sql: [DASHES, BLOCK, ...QUOTED],
  css: [BLOCK, ...QUOTED],
};
/** Languages that TypeScript parses. */
export const SCRIPTS: ReadonlySet<string> = new Set(['ts', 'tsx', 'js', 'cjs']);
/** The delimiters around the words of a comment line, and the star that continues a block. */
const DECORATION = /^\s*(?:\/\*+|\/\/+|\*(?!\/)|--\[\[|--+|#+|"""|''')?|(?:\*\/|\]\]|"""|''')\s*$/g;

/** The file extensions whose comments can be read. */
export const SOURCE_ENDINGS: readonly string[] = [...SCRIPTS, ...Object.keys(LANGUAGES)];

/** Returns the comments of a source file in order. */
export function commentPassages(path: string, source: string): Passage[] {
  const ending = path.slice(path.lastIndexOf('.') + 1);
  const comments = SCRIPTS.has(ending)
    ? scriptComments(path, source)
    : scannedComments(source, LANGUAGES[ending] ?? []);
  const passages: Passage[] = [];
  let lineComments: ProseLine[] = [];
  const finish = () => {
    passages.push(...joinLines(lineComments, false));
    lineComments = [];
  };
  let line = 1;
  let counted = 0;
  for (const comment of comments) {
    line += newlinesIn(source.slice(counted, comment.start));
    counted = comment.start;
    const continues = comment.isLine && lineComments.at(-1)?.line === line - 1;
    if (!continues) finish();
    if (comment.isLine) lineComments.push(...proseLines(comment, line));
    else passages.push(...joinLines(proseLines(comment, line), comment.isDoc));
  }
  finish();
  return passages;
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1;
}

function proseLines({ text }: Comment, firstLine: number): ProseLine[] {
  return text.split('\n').map((line, at) => ({ line: firstLine + at, text: line.replaceAll(DECORATION, '') }));
}

/** Functions of test runners whose first argument is a title, including calls through `.each(…)` and the like. */
const TITLED_CALLS = new Set(['describe', 'it', 'test']);

/** Returns the titles of tests and the `title` properties of a script, each as a passage. */
export function titlePassages(path: string, source: string): Passage[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const passages: Passage[] = [];
  const visit = (node: ts.Node): void => {
    const title = ts.isCallExpression(node)
      ? TITLED_CALLS.has(calledName(node.expression)) && node.arguments[0]
      : ts.isPropertyAssignment(node) && node.name.getText(file) === 'title' && node.initializer;
    if (title && ts.isStringLiteralLike(title)) {
      const line = file.getLineAndCharacterOfPosition(title.getStart(file)).line + 1;
      passages.push(...joinLines([{ line, text: title.text }], false));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return passages;
}

/** Returns the name of the function that a chain such as `it.skipIf(a).each(b)` starts with. */
function calledName(called: ts.Expression): string {
  if (ts.isIdentifier(called)) return called.text;
  if (ts.isCallExpression(called) || ts.isPropertyAccessExpression(called) || ts.isTaggedTemplateExpression(called))
    return calledName(ts.isTaggedTemplateExpression(called) ? called.tag : called.expression);
  return '';
}

/** Visits every token, because any of them may be preceded by a comment. */
function scriptComments(path: string, source: string): Comment[] {
  const found = new Map<number, Comment>();
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const add = (start: number, end: number, kind: ts.CommentKind) => {
    const text = source.slice(start, end);
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    found.set(start, { start, text, isDoc: text.startsWith('/**'), isLine });
  };
  const jsxTexts: ts.JsxText[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isJSDoc(node)) return;
    if (ts.isJsxText(node)) return void jsxTexts.push(node);
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    ts.forEachLeadingCommentRange(source, node.pos, add);
    ts.forEachTrailingCommentRange(source, node.end, add);
  };
  visit(file);
  // Two slashes between JSX tags are text, but look like a comment after the tag.
  const isText = ({ start }: Comment) => jsxTexts.some(({ pos, end }) => start >= pos && start < end);
  return [...found.values()].filter((it) => !isText(it)).sort((a, b) => a.start - b.start);
}

function scannedComments(source: string, stretches: readonly Stretch[]): Comment[] {
  const comments: Comment[] = [];
  for (let at = 0; at < source.length; ) {
    const stretch = stretches.find(({ begins }) => source.startsWith(begins, at));
    if (!stretch) {
      at++;
      continue;
    }
    const end = endOf(source, at + stretch.begins.length, stretch);
    const isDoc = stretch.kind === 'docstring' && startsItsLine(source, at);
    if (isDoc || stretch.kind === 'line' || stretch.kind === 'block')
      comments.push({ start: at, text: source.slice(at, end).trimEnd(), isDoc, isLine: stretch.kind === 'line' });
    at = end;
  }
  return comments;
}

/** Returns the end of a stretch, after its closing delimiter. */
function endOf(source: string, from: number, { ends, kind }: Stretch): number {
  let at = from;
  while (at < source.length && !source.startsWith(ends, at)) at += kind === 'string' && source[at] === '\\' ? 2 : 1;
  return at + ends.length;
}

/** Other Python strings follow an assignment or a bracket. */
function startsItsLine(source: string, at: number): boolean {
  return source.slice(source.lastIndexOf('\n', at) + 1, at).trim() === '';
}
