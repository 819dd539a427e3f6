/** Type-checks modules that exist only in memory, and finds the module that exports a name. */
import { join } from 'node:path';
import ts from 'typescript';

/** A type error of a module. */
export interface TypeFault {
  /** Starting at 1. */
  line: number;
  message: string;
}

/** Returns a compiler for modules that import these packages. */
export function createCompiler(root: string, modules: readonly string[]) {
  const options = compilerOptions(root);
  const sources = new Map<string, string>();
  const host = cachingHost(options, sources);
  const entry = join(root, 'examples/.example-modules.ts');
  sources.set(entry, modules.map((module) => `import ${JSON.stringify(module)};`).join('\n'));
  const before = ts.createProgram([entry], options, host);
  const names = exportedNames(before, entry);
  return {
    /** Returns the first package that exports a name. */
    moduleOf: (name: string): string | undefined => names.get(name),
    /** Returns the type errors of each module, in the order of `texts`. */
    check(texts: readonly string[]): TypeFault[][] {
      const files = texts.map((text, at) => {
        const file = join(root, `examples/.example-${at}.ts`);
        sources.set(file, text);
        return file;
      });
      const program = ts.createProgram([entry, ...files], options, host, before);
      return files.map((file) => faultsIn(program, file));
    },
  };
}

function compilerOptions(root: string): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  return {
    ...options,
    composite: false,
    declaration: false,
    emitDeclarationOnly: false,
    noEmit: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: false,
  };
}

/** Parses every file only once for both programs, and serves the generated files from memory. */
function cachingHost(options: ts.CompilerOptions, sources: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const parsed = new Map<string, ts.SourceFile | undefined>();
  return {
    ...host,
    fileExists: (file) => sources.has(file) || host.fileExists(file),
    readFile: (file) => sources.get(file) ?? host.readFile(file),
    getSourceFile(file, version) {
      if (!parsed.has(file)) {
        const text = sources.get(file);
        parsed.set(
          file,
          text === undefined ? host.getSourceFile(file, version) : ts.createSourceFile(file, text, version),
        );
      }
      return parsed.get(file);
    },
  };
}

/** Maps each exported name to the first module that exports it. */
function exportedNames(program: ts.Program, entry: string): Map<string, string> {
  const checker = program.getTypeChecker();
  const moduleOf = new Map<string, string>();
  for (const statement of program.getSourceFile(entry)!.statements) {
    const { moduleSpecifier } = statement as ts.ImportDeclaration;
    const symbol = checker.getSymbolAtLocation(moduleSpecifier);
    const { text } = moduleSpecifier as ts.StringLiteral;
    if (!symbol) throw new Error(`Examples cannot import ${text}`);
    for (const { name } of checker.getExportsOfModule(symbol)) if (!moduleOf.has(name)) moduleOf.set(name, text);
  }
  return moduleOf;
}

function faultsIn(program: ts.Program, file: string): TypeFault[] {
  const source = program.getSourceFile(file)!;
  const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return diagnostics.map(({ start = 0, messageText }) => ({
    line: source.getLineAndCharacterOfPosition(start).line + 1,
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }));
}
