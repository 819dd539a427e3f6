/** What a command declares: help, documentation, completion and the tests of its examples are made from this. */
import type { CallOptions, Store, StoreOptions } from '@tidemark/core';
import type { Confirmation } from './confirm.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';
import type { Option, OptionValues, Positional, PositionalValues } from './options.ts';
import type { Output } from './output.ts';
import type { Progress } from './progress.ts';
import type { Settings, StoreFlags } from './settings.ts';

/** What a command does to a store: reads it, writes to it, or removes things for good. */
export type Effect = 'ro' | 'rw' | 'destructive';

/** A call of the command as people would type it; a test runs it on a sample store. */
export interface Example {
  /** After `tidemark`. */
  line: string;
  /** A part of what it prints. */
  shows: string;
  /** What it is given as input. */
  input?: string;
  exit?: ExitCode;
}

/** How a command ends: with an exit code, 0 when it gives none. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing.
type Ending = Promise<ExitCode | void>;

export interface StoreWish {
  /** An empty store in place of a missing one will not do. */
  mustExist?: boolean;
  /** As it was opened: calls that fail for the moment are not made again. For parts that do so themselves. */
  isPlain?: boolean;
  /** The operator's view, whatever tenant is named. */
  isWhole?: boolean;
  /** Receives the alerts of the store. */
  onAlert?: StoreOptions['onAlert'];
}

/** What a command works with. */
export interface CommandContext<A, O> {
  args: A;
  options: O;
  io: Io;
  out: Output;
  /** The options of all commands as they were typed. */
  flags: StoreFlags;
  /** Which store, resolved from flags, environment and context. */
  readonly settings: Settings;
  /** True when nothing may be written; only writing commands are asked for it. */
  dryRun: boolean;
  /** The store that flags, environment and context name, confined to the tenant if one is named; closed at the end. */
  store(options?: StoreWish): Promise<Store>;
  /** Options of calls that take as long as they take: ended by Ctrl-C, or by --timeout where it is given. */
  patient: CallOptions;
  /** Asks before something goes for good; throws unless the answer is the expected one. */
  confirm(confirmation: Confirmation): Promise<void>;
  progress(label: string): Progress;
}

interface CommandSpec<A extends Record<string, Positional<unknown>>, O extends Record<string, Option<unknown>>> {
  /** Noun and verb: `runs list`. */
  name: string;
  summary: string;
  /** What else there is to know. */
  details?: string;
  effect: Effect;
  args?: A;
  options?: O;
  examples: readonly [Example, ...Example[]];
  run(context: CommandContext<PositionalValues<A>, OptionValues<O>>): Ending;
}

/** A command, whatever its arguments and options. */
export interface Command {
  name: string;
  summary: string;
  details?: string;
  effect: Effect;
  args: Record<string, Positional<unknown>>;
  options: Record<string, Option<unknown>>;
  examples: readonly Example[];
  run(context: CommandContext<never, never>): Ending;
}

export function defineCommand<
  A extends Record<string, Positional<unknown>> = Record<never, never>,
  O extends Record<string, Option<unknown>> = Record<never, never>,
>(spec: CommandSpec<A, O>): Command {
  return { ...spec, args: spec.args ?? {}, options: spec.options ?? {}, run: spec.run as Command['run'] };
}

/** `afterSeq` is given as `--after-seq`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
