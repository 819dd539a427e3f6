/** Checks every entry point of every package: what it exports when imported, and in TypeScript. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publishedEntries } from '../api/entries.ts';
import { readSurface } from '../api/surface.ts';
import { ROOT, runQuietly } from '../processes.ts';
import { cleanEnv, type Runtime } from './checks.ts';

interface EntryPoint {
  specifier: string;
  /** The exported names that exist at run time. */
  values: string[];
  /** The names that exist only as types. */
  types: string[];
}

let known: EntryPoint[] | undefined;

/** Returns the entry points of all published packages, with the names that their sources export. */
function entryPoints(): EntryPoint[] {
  const entries = publishedEntries(ROOT);
  const surface = readSurface(
    ROOT,
    entries.map(({ file }) => file),
  );
  known ??= entries.map(({ specifier, file }) => {
    const names = surface.get(file)!;
    const named = (isType: boolean) => names.filter((it) => it.isType === isType).map(({ name }) => name);
    return { specifier, values: named(false), types: named(true) };
  });
  return known;
}

/** Prints the names that each module exports. */
const PRINT_EXPORTS = `
const found = {};
for (const specifier of process.argv.slice(2)) found[specifier] = Object.keys(await import(specifier)).sort();
console.log(JSON.stringify(found));
`;

/** Imports every entry point, which must export exactly the values of its sources. Returns their number. */
export async function importsEntries({ program, args }: Runtime, directory: string): Promise<number> {
  const file = 'print-exports.mjs';
  writeFileSync(join(directory, file), PRINT_EXPORTS);
  const entries = entryPoints();
  const specifiers = entries.map(({ specifier }) => specifier);
  const printed = await runQuietly(program, [...args, file, ...specifiers], { cwd: directory, env: cleanEnv() });
  if (printed.code !== 0) throw new Error(printed.output);
  const found = JSON.parse(printed.output) as Record<string, string[]>;
  for (const { specifier, values } of entries) {
    const [actual, expected] = [found[specifier]!.join(), [...values].sort().join()];
    if (actual !== expected) throw new Error(`${specifier} exports ${actual} instead of ${expected}`);
  }
  return entries.length;
}

/** Returns a program that imports every exported name of every entry point, as a value or a type. */
export function importingProgram(): string {
  return entryPoints()
    .map(({ specifier, values, types }, at) => {
      const renamed = (name: string) => `${name} as ${name}${at}`;
      const imported = [...values.map(renamed), ...types.map((name) => `type ${renamed(name)}`)];
      return `import { ${imported.join(', ')} } from '${specifier}';\n`;
    })
    .join('');
}
