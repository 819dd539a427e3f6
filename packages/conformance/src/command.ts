/** The kit's command line, separate from the process: output and exit codes. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ALL_CASES } from './cases/index.ts';
import type { StoreFactory } from './kit.ts';
import { formatReport } from './report.ts';
import { selectCases } from './select.ts';
import { runConformance } from './suite.ts';

const USAGE = `Usage: tidemark-conformance <module>#<export> [options]

Runs Tidemark's contract against the store that <export> of <module> makes; it may be async.
A module is a path (./my-store.js) or a package; without #<export> its default export is used.

  --only <text>         only cases whose id contains the text, or that prove the clause (RUN-4)
  --json <file>         writes the report as JSON; - writes it to stdout instead of the table
  --list                lists the cases and runs none
  --concurrency <n>     number of concurrent cases, default 1
  --seed <n>            replays the model-based cases of an earlier run
  --model-runs <n>      command sequences per model-based case, default 60
  --help                shows this help

Exit code: 0 the store conforms, 1 it does not, 2 the kit could not run.`;

/** A usage error. The message explains how to fix it. */
export class UsageError extends Error {}

/**
 * Runs the command, prints through `print` and returns the exit code. Throws `UsageError` if the command line is
 * invalid.
 */
export async function runCommand(args: string[], print: (text: string) => void): Promise<number> {
  const { values, positionals } = parse(args);
  if (values.help) {
    print(USAGE);
    return 0;
  }
  const selection = values.only === undefined ? {} : { only: values.only };
  const chosen = selectCases(ALL_CASES, selection);
  if (chosen.length === 0) throw new UsageError(`No case matches --only ${values.only}; --list shows them all.`);
  if (values.list) {
    for (const it of chosen) print(`${it.id}  ${it.title} [${it.proves.join(', ')}]`);
    return 0;
  }
  if (positionals.length !== 1) throw new UsageError(`Name one store to test.\n\n${USAGE}`);
  const factory = await loadFactory(positionals[0]!);
  const report = await runConformance(factory, {
    ...selection,
    ...numberOption('concurrency', values.concurrency),
    ...numberOption('seed', values.seed),
    ...numberOption('modelRuns', values['model-runs']),
  });
  if (values.json === '-') print(JSON.stringify(report, null, 2));
  else {
    print(formatReport(report));
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return report.totals.failed === 0 ? 0 : 1;
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        only: { type: 'string' },
        json: { type: 'string' },
        list: { type: 'boolean' },
        concurrency: { type: 'string' },
        seed: { type: 'string' },
        'model-runs': { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`);
  }
}

function numberOption(name: string, text: string | undefined): Record<string, number> {
  if (text === undefined) return {};
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new UsageError(`${name} must be a whole number, not ${JSON.stringify(text)}.`);
  return { [name]: value };
}

async function loadFactory(name: string): Promise<StoreFactory> {
  const [specifier, exportName = 'default'] = name.split('#') as [string, string?];
  const module = await importModule(specifier);
  const factory = module[exportName];
  if (typeof factory === 'function') return factory as StoreFactory;
  const names = Object.keys(module).join(', ') || 'nothing';
  throw new UsageError(
    factory === undefined
      ? `${specifier} has no export named ${exportName}; it exports ${names}. Name one as ${specifier}#name.`
      : `${exportName} of ${specifier} is not a function; the kit needs one that makes a store.`,
  );
}

async function importModule(specifier: string): Promise<Record<string, unknown>> {
  const isPath = /^(\.{0,2}[/\\]|[A-Za-z]:[/\\])/.test(specifier) || existsSync(specifier);
  const path = resolve(specifier);
  if (isPath && !existsSync(path)) throw new UsageError(`There is no module at ${path}.`);
  try {
    return await import(isPath ? pathToFileURL(path).href : specifier);
  } catch (error) {
    throw new UsageError(`Could not load ${specifier}: ${(error as Error).message}`);
  }
}
