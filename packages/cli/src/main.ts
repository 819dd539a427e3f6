/** One call of the command line, from its words to its exit code. */
import { type Store, TidemarkError } from '@tidemark/core';
import { hideUrlSecrets, holdsSecret } from '@tidemark/core/engine';
import { CommanderError, type Command as Parser } from 'commander';
import { type Command, type CommandContext, flagOf } from './command.ts';
import { askToConfirm } from './confirm.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { reportFailure } from './failures.ts';
import type { Io } from './io.ts';
import type { Option } from './options.ts';
import { Output } from './output.ts';
import { buildParser, type Call, GLOBAL_OPTIONS, optionsOf } from './program.ts';
import { type Progress, startProgress } from './progress.ts';
import { resolveCalls, resolveSettings, type StoreFlags } from './settings.ts';
import { openTarget } from './target.ts';
import { VERSION } from './version.ts';

/** How long a call may take that goes through much. */
const PATIENCE_MS = 24 * 3_600_000;

const SEEN_BY_ALL =
  'The URL after --store is in the process list, where everybody on this machine can read it; give one with a password by --store-file or TIDEMARK_STORE.';

/** Runs `tidemark <argv>` and gives its exit code; nothing is thrown. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  try {
    const parsed = await parse(argv, io);
    return typeof parsed === 'number' ? parsed : await execute(parsed, io);
  } catch (error) {
    await reportFailure(io, error);
    return exitCodeOf(error);
  }
}

/** The call that was typed; an exit code when that was answered already, with help or a correction. */
async function parse(argv: readonly string[], io: Io): Promise<Call | number> {
  let call: Call | undefined;
  const said = { out: '', error: '' };
  const parser = buildParser(VERSION, (it) => {
    call = it;
  });
  prepare(parser, said, io);
  let code: number = EXIT.ok;
  try {
    parser.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = error.exitCode === 0 || argv.length === 0 ? EXIT.ok : EXIT.usage;
  }
  if (said.out !== '') await io.stdout.write(said.out);
  if (said.error !== '') await (argv.length === 0 ? io.stdout : io.stderr).write(hideUrlSecrets(said.error));
  return call ?? code;
}

/** Commander writes and exits by itself unless every parser in the tree is told otherwise. */
function prepare(parser: Parser, said: { out: string; error: string }, io: Io): void {
  parser.exitOverride().configureOutput({
    writeOut: (text) => (said.out += text),
    writeErr: (text) => (said.error += text),
    getOutHelpWidth: () => io.stdout.columns,
    getErrHelpWidth: () => io.stderr.columns,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
  for (const child of parser.commands) prepare(child, said, io);
}

async function execute({ command, args, texts }: Call, io: Io): Promise<number> {
  const globals = read(GLOBAL_OPTIONS, texts);
  const flags: StoreFlags = { ...globals, timeout: texts.timeout?.at(-1) };
  const options = read(optionsOf(command), texts);
  const { readOnly, timeoutMs = PATIENCE_MS } = resolveCalls(flags, io.env);
  const out = new Output(io, { form: globals.json ? 'json' : globals.output, times: globals.time ?? 'relative' });
  const dryRun = options.dryRun === true;
  if (readOnly && command.effect !== 'ro' && !dryRun) throw readOnlyAsked(command);
  const opened: Store[] = [];
  const bars: Progress[] = [];
  const context: CommandContext<unknown, unknown> = {
    ...{ args, options, flags, io, out, dryRun },
    patient: { signal: io.signal, timeoutMs },
    // Resolved when it is asked for: commands that mend a broken context must run in spite of it.
    get settings() {
      return resolveSettings(flags, io.env);
    },
    async store({ mustExist = false, isPlain = false, isWhole = false, onAlert } = {}) {
      const { settings } = context;
      const readsOnly = command.effect === 'ro' || dryRun;
      if (settings.storeFrom === '--store' && holdsSecret(settings.store)) await out.note(SEEN_BY_ALL);
      const target = { readsOnly, mustExist, isPlain, note: (text: string) => out.note(text), onAlert };
      const store = await openTarget(settings, target);
      opened.push(store);
      return isWhole || settings.tenant === undefined ? store : store.forTenant(settings.tenant);
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

function readOnlyAsked({ name }: Command): TidemarkError {
  const message = `\`tidemark ${name}\` writes, and --read-only was asked for`;
  return new TidemarkError('FORBIDDEN', message, { rule: 'a command that only reads, or --dry-run' });
}

function read<O extends Record<string, Option<unknown>>>(options: O, texts: Record<string, string[]>) {
  const values = Object.entries(options).map(([name, option]) => [name, option.read(texts[name] ?? [], flagOf(name))]);
  return Object.fromEntries(values) as { [K in keyof O]: ReturnType<O[K]['read']> };
}
