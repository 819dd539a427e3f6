/** Runs an example and compares its output with the comments behind its `console.log` calls. */
import { formatWithOptions } from 'node:util';
import ts from 'typescript';
import { type Example, withoutImports } from './examples.ts';

const PRINTED = /console\.log\(.*\);? \/\/ (.*)$/gm;

/** Returns the lines that an example documents as its output. If there are none, the output is not compared. */
export function expectedOutput({ code }: Example): string[] {
  return [...code.matchAll(PRINTED)].map(([, text]) => text!);
}

/** Runs an example with these names in scope and returns the lines that it prints. */
export async function runExample({ code }: Example, scope: Readonly<Record<string, unknown>>): Promise<string[]> {
  const printed: string[] = [];
  const print = (...values: unknown[]) => void printed.push(formatWithOptions({ colors: false }, ...values));
  const console = { log: print, debug: print, info: print, warn: print, error: print };
  const names = Object.entries({ ...scope, console });
  const program = new AsyncFunction(
    ...names.map(([name]) => name),
    `${transpiled(withoutImports(code).code)}\nawait example();`,
  );
  await program(...names.map(([, value]) => value));
  return printed;
}

type AsyncFunctionConstructor = new (...args: string[]) => (...args: unknown[]) => Promise<void>;

const AsyncFunction = (async () => {}).constructor as unknown as AsyncFunctionConstructor;

/** Inside its own function, an example may declare names that are in scope, such as `store`. */
function transpiled(code: string): string {
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(`async function example() {\n${code}\n}`, { compilerOptions: options }).outputText;
}
