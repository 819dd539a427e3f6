/**
 * Reads the exports of modules with the TypeScript checker. Declarations are printed as in the emitted `.d.ts` files, where inferred types
 * are written out, without comments, function bodies and private members.
 */
import { join, relative } from 'node:path';
import ts from 'typescript';

/** An exported name. */
export interface ExportedName {
  name: string;
  /** Whether the name exists only as a type. */
  isType: boolean;
  /** The file that declares the name, relative to the root. */
  file: string;
  declaration: string;
}

/** Returns the exports of each module, sorted by name. Files are given and returned relative to the root. */
export function readSurface(root: string, files: readonly string[]): Map<string, ExportedName[]> {
  const program = ts.createProgram(
    files.map((file) => join(root, file)),
    compilerOptions(),
  );
  const checker = program.getTypeChecker();
  const printed = new DeclarationPrinter(program);
  return new Map(
    files.map((file) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(join(root, file))!);
      const exported = module ? checker.getExportsOfModule(module) : [];
      const onlyTypes = namesAsTypesOnly(program.getSourceFile(join(root, file))!);
      const names = exported.map((symbol) => describe(root, symbol, checker, printed));
      return [file, names.map((it) => (onlyTypes(it.name) ? { ...it, isType: true } : it)).sort(byName)];
    }),
  );
}

/** Returns whether a name is exported by `export type *` alone, which drops its value. */
function namesAsTypesOnly(source: ts.SourceFile): (name: string) => boolean {
  const exports = source.statements.filter(ts.isExportDeclaration);
  const named = exports.flatMap(({ exportClause: clause }) =>
    clause && ts.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : [],
  );
  const isStar = exports.some((it) => it.isTypeOnly && it.exportClause === undefined);
  return (name) => isStar && !named.includes(name);
}

/** Compares by code unit, so that the order is the same in every locale. */
function byName(a: ExportedName, b: ExportedName): number {
  return a.name < b.name ? -1 : 1;
}

function compilerOptions(): ts.CompilerOptions {
  const base = join(import.meta.dirname, '../../tsconfig.base.json');
  const { config } = ts.readConfigFile(base, ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, join(base, '..'));
  // `npm run check -- types` reports type errors; checking them here would only take time.
  return { ...options, composite: false, removeComments: true, noCheck: true };
}

function describe(
  root: string,
  exported: ts.Symbol,
  checker: ts.TypeChecker,
  printed: DeclarationPrinter,
): ExportedName {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const declarations = symbol.declarations ?? [];
  const sources = [...new Set(declarations.map((node) => node.getSourceFile()))];
  const texts = sources.flatMap((source) => printed.declarationsOf(source, symbol.name));
  if (texts.length === 0) throw new Error(`The API report cannot print ${exported.name}: no declaration has its name`);
  const renamed = symbol.name === exported.name ? [] : [`export { ${symbol.name} as ${exported.name} };`];
  return {
    name: exported.name,
    isType: !(symbol.flags & ts.SymbolFlags.Value),
    file: relative(root, sources[0]!.fileName),
    declaration: [...renamed, ...texts].join('\n'),
  };
}

/** Emits the declarations of a source file when they are first needed. */
class DeclarationPrinter {
  readonly #program: ts.Program;
  readonly #emitted = new Map<ts.SourceFile, ts.SourceFile>();

  constructor(program: ts.Program) {
    this.#program = program;
  }

  /** Returns every declaration of a name in a file: overloads, and types and values that share a name. */
  declarationsOf(source: ts.SourceFile, name: string): string[] {
    const emitted = this.#emit(source);
    return emitted.statements.filter((it) => declares(it, name)).map((it) => printStatement(it, emitted));
  }

  #emit(source: ts.SourceFile): ts.SourceFile {
    const known = this.#emitted.get(source);
    if (known) return known;
    let text = source.isDeclarationFile ? source.text : '';
    const keep: ts.WriteFileCallback = (_, content) => {
      text = content;
    };
    if (!source.isDeclarationFile) this.#program.emit(source, keep, undefined, true);
    const emitted = ts.createSourceFile(source.fileName, text, ts.ScriptTarget.Latest, true);
    this.#emitted.set(source, emitted);
    return emitted;
  }
}

function declares(statement: ts.Statement, name: string): boolean {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.some((it) => it.name.getText() === name);
  return 'name' in statement && (statement.name as ts.Node | undefined)?.getText() === name;
}

function printStatement(statement: ts.Statement, file: ts.SourceFile): string {
  let text = '';
  let from = statement.getStart(file);
  for (const member of ts.isClassDeclaration(statement) ? statement.members : []) {
    if (!isPrivate(member)) continue;
    text += file.text.slice(from, member.pos);
    from = member.end;
  }
  text += file.text.slice(from, statement.end);
  return text
    .replace(/^export /, '')
    .replace(/^declare /, '')
    .replaceAll(/\bimport\("[^"]*"\)\./g, '')
    .replaceAll(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2));
}

function isPrivate(member: ts.ClassElement): boolean {
  return (
    (member.name !== undefined && ts.isPrivateIdentifier(member.name)) ||
    (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0
  );
}
