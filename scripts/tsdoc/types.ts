/** Type-checks examples. Exported names need no import in an example, so the check adds the imports. */
import { join } from 'node:path';
import ts from 'typescript';
import type { Example } from './examples.ts';

/** Returns the type errors of each example. Names are looked up in the modules in this order. */
export function typeErrors(
  root: string,
  examples: readonly Example[],
  modules: readonly string[],
): Map<Example, string[]> {
  const options = compilerOptions(root);
  const sources = new Map<string, string>();
  const host = cachingHost(options, sources);
  const entry = join(root, 'examples/.tsdoc-modules.ts');
  sources.set(entry, modules.map((module) => `import ${JSON.stringify(module)};`).join('\n'));
  const before = ts.createProgram([entry], options, host);
  const moduleOf = exportedNames(before, entry);
  const files = examples.map((example, at) => {
    const file = join(root, `examples/.tsdoc-${at}.ts`);
    sources.set(file, moduleText(example, moduleOf));
    return file;
  });
  const program = ts.createProgram([entry, ...files], options, host, before);
  return new Map(examples.map((example, at) => [example, errorsIn(program, files[at]!, example)]));
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

/** Parses every file once for both programs, and serves the generated ones from memory. */
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

/** Returns the module of each exported name: the first one that exports it. */
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

function moduleText({ code }: Example, moduleOf: ReadonlyMap<string, string>): string {
  const names = new Set(code.match(/[A-Za-z_$][\w$]*/g));
  const imports = [...names].flatMap((name) => {
    const module = moduleOf.get(name);
    return module === undefined ? [] : [`import { ${name} } from ${JSON.stringify(module)};`];
  });
  const given = "store: import('@tidemark/core').Store";
  return `${imports.join(' ')} export async function example(${given}): Promise<void> {{\n${code}\n}}\n`;
}

function errorsIn(program: ts.Program, file: string, { title, line }: Example): string[] {
  const source = program.getSourceFile(file)!;
  const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return diagnostics.map(({ start = 0, messageText }) => {
    const at = line + source.getLineAndCharacterOfPosition(start).line;
    return `${title}, line ${at}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
