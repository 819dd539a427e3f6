/** Type-checks examples. Exported names need no import in an example, so the check adds the imports. */
import { createCompiler } from './compiler.ts';
import { type Example, withoutImports } from './examples.ts';

/** Returns the type errors of each example. Names are looked up in the modules in this order. */
export function typeErrors(
  root: string,
  examples: readonly Example[],
  modules: readonly string[],
): Map<Example, string[]> {
  const compiler = createCompiler(root, modules);
  const faults = compiler.check(examples.map((example) => moduleText(example, compiler.moduleOf)));
  return new Map(
    examples.map((example, at) => {
      const { title, line } = example;
      return [example, faults[at]!.map((fault) => `${title}, line ${line + fault.line - 1}: ${fault.message}`)];
    }),
  );
}

function moduleText(example: Example, moduleOf: (name: string) => string | undefined): string {
  const { imports: own, code } = withoutImports(example.code);
  const names = new Set(code.match(/[A-Za-z_$][\w$]*/g));
  const imports = [...names].flatMap((name) => {
    const module = own.some((it) => new RegExp(`\\b${name}\\b`).test(it)) ? undefined : moduleOf(name);
    return module === undefined ? [] : [`import { ${name} } from ${JSON.stringify(module)};`];
  });
  const given = "store: import('@tidemark/core').Store";
  return `${[...own, ...imports].join(' ')} export async function example(${given}): Promise<void> {{\n${code}\n}}\n`;
}
