/** Parses and runs one command line. */
import { type Store, TidemarkError } from '@tidemark/core';
import { hideUrlSecrets, holdsSecret } from '@tidemark/core/engine';
import { CommanderError, type Command as Parser } from 'commander';
import { type Command, type CommandContext, toFlag } from './command.ts';
import { askToConfirm } from './confirm.ts';
import { EXIT, exitCodeFor } from './exit-codes.ts';
import { reportFailure } from './failures.ts';
import type { Io } from './io.ts';
import type { Option } from './options.ts';
import { Output } from './output.ts';
import { allOptions, buildParser, type Call, GLOBAL_OPTIONS } from './program.ts';
import { type Progress, startProgress } from './progress.ts';
import { resolveCalls, resolveSettings, type StoreFlags } from './settings.ts';
import { openTarget } from './target.ts';
import { VERSION } from './version.ts';

/** The default timeout of long calls. */
const LONG_CALL_TIMEOUT_MS = 24 * 3_600_000;

const PASSWORD_VISIBLE =
  'The URL after --store is in the process list, where every user of this machine can read it. Pass a URL with a password by --store-file or TIDEMARK_STORE.';

/** Runs `tidemark <argv>` and returns its exit code. Never throws. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  try {
    const parsed = await parse(argv, io);
    return typeof parsed === 'number' ? parsed : await execute(parsed, io);
  } catch (error) {
    await reportFailure(io, error);
    return exitCodeFor(error);
  }
}

/** Parses the arguments. Returns an exit code instead if it printed help or a usage error. */
async function parse(argv: readonly string[], io: Io): Promise<Call | number> {
  let call: Call | undefined;
  const printed = { out: '', error: '' };
  const parser = buildParser(VERSION, (it) => {
    call = it;
  });
  prepare(parser, printed, io);
  let code: number = EXIT.ok;
  try {
    parser.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = error.exitCode === 0 || argv.length === 0 ? EXIT.ok : EXIT.usage;
  }
  if (printed.out !== '') await io.stdout.write(printed.out);
  if (printed.error !== '') await (argv.length === 0 ? io.stdout : io.stderr).write(hideUrlSecrets(printed.error));
  return call ?? code;
}

/** Prevents commander from writing and exiting on its own. This must be set on every parser in the tree. */
function prepare(parser: Parser, printed: { out: string; error: string }, io: Io): void {
  parser.exitOverride().configureOutput({
    writeOut: (text) => (printed.out += text),
    writeErr: (text) => (printed.error += text),
    getOutHelpWidth: () => io.stdout.columns,
    getErrHelpWidth: () => io.stderr.columns,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
  for (const child of parser.commands) prepare(child, printed, io);
}

async function execute({ command, args, texts }: Call, io: Io): Promise<number> {
  const globals = read(GLOBAL_OPTIONS, texts);
  const flags: StoreFlags = { ...globals, timeout: texts.timeout?.at(-1) };
  const options = read(allOptions(command), texts);
  const { readOnly, timeoutMs = LONG_CALL_TIMEOUT_MS } = resolveCalls(flags, io.env);
  const out = new Output(io, { form: globals.json ? 'json' : globals.output, times: globals.time ?? 'relative' });
  const dryRun = options.dryRun === true;
  if (readOnly && command.effect !== 'ro' && !dryRun) throw readOnlyError(command);
  const opened: Store[] = [];
  const bars: Progress[] = [];
  const context: CommandContext<unknown, unknown> = {
    ...{ args, options, flags, io, out, dryRun },
    longCall: { signal: io.signal, timeoutMs },
    // Resolved on use, because commands that repair a broken context must still run.
    get settings() {
      return resolveSettings(flags, io.env);
    },
    async store({ mustExist = false, withoutRetries = false, allTenants = false, upgrade, onAlert } = {}) {
      const { settings } = context;
      const readsOnly = command.effect === 'ro' || dryRun;
      if (settings.storeFrom === '--store' && holdsSecret(settings.store)) await out.note(PASSWORD_VISIBLE);
      const target = { readsOnly, mustExist, withoutRetries, note: (text: string) => out.note(text), upgrade, onAlert };
      const store = await openTarget(settings, target);
      opened.push(store);
      return allTenants || settings.tenant === undefined ? store : store.forTenant(settings.tenant);
    },
    confirm: (confirmation) => askToConfirm(io, confirmation, options.yes === true),
    progress(label) {
      bars.push(startProgress(io, label));
      return bars.at(-1)!;
    },
  };
  try {
    const code = await command.run(context as CommandContext<never, never>);
    return code ?? (io.signal.aborted ? EXIT.interrupted : EXIT.ok);
  } finally {
    for (const bar of bars) bar.end();
    for (const store of opened) await store.close();
  }
}

function readOnlyError({ name }: Command): TidemarkError {
  const message = `\`tidemark ${name}\` writes, which --read-only does not allow`;
  return new TidemarkError('FORBIDDEN', message, { rule: 'a command that only reads, or --dry-run' });
}

function read<O extends Record<string, Option<unknown>>>(options: O, texts: Record<string, string[]>) {
  const values = Object.entries(options).map(([name, option]) => [name, option.read(texts[name] ?? [], toFlag(name))]);
  return Object.fromEntries(values) as { [K in keyof O]: ReturnType<O[K]['read']> };
}
