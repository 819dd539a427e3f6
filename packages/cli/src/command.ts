/** Command declarations. Help, documentation, completion and the tests of the examples are generated from them. */
import type { CallOptions, Store, StoreOptions } from '@tidemark/core';
import type { Confirmation } from './confirm.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';
import type { Option, OptionValues, Positional, PositionalValues } from './options.ts';
import type { Output } from './output.ts';
import type { Progress } from './progress.ts';
import type { Settings, StoreFlags } from './settings.ts';

/** A command's effect on a store: reads, writes, or removes data permanently. */
export type Effect = 'ro' | 'rw' | 'destructive';

/** A command line as a user would type it. A test runs it on a sample store. */
export interface Example {
  /** The words after `tidemark`. */
  line: string;
  /** A part of the expected output. */
  shows: string;
  /** The text on stdin. */
  input?: string;
  exit?: ExitCode;
}

/** A command's exit code; 0 when it returns nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing.
type Ending = Promise<ExitCode | void>;

export interface OpenStoreOptions {
  /** Fails if the store is missing, instead of using an empty one. */
  mustExist?: boolean;
  /** Returns the store without the retry wrapper, for components that retry on their own. */
  withoutRetries?: boolean;
  /** Returns the operator's view and ignores the configured tenant. */
  allTenants?: boolean;
  /** Raises the format of a store that an older version created. */
  upgrade?: boolean;
  /** Receives the store's alerts. */
  onAlert?: StoreOptions['onAlert'];
}

/** The input of a command's `run`. */
export interface CommandContext<A, O> {
  args: A;
  options: O;
  io: Io;
  out: Output;
  /** The global options as typed. */
  flags: StoreFlags;
  /** The store's settings, resolved from flags, environment and context. */
  readonly settings: Settings;
  /** True when nothing may be written. Only commands that write accept `--dry-run`. */
  dryRun: boolean;
  /** Opens the configured store, restricted to the tenant if one is set. It is closed when the command ends. */
  store(options?: OpenStoreOptions): Promise<Store>;
  /** Options for calls of unbounded duration, which end on Ctrl-C, or at --timeout if it is set. */
  longCall: CallOptions;
  /** Asks before removing data; throws unless the answer is the expected one. */
  confirm(confirmation: Confirmation): Promise<void>;
  progress(label: string): Progress;
}

interface CommandSpec<A extends Record<string, Positional<unknown>>, O extends Record<string, Option<unknown>>> {
  /** The noun and the verb: `runs list`. */
  name: string;
  summary: string;
  /** Further help text after the summary. */
  details?: string;
  effect: Effect;
  args?: A;
  options?: O;
  examples: readonly [Example, ...Example[]];
  run(context: CommandContext<PositionalValues<A>, OptionValues<O>>): Ending;
}

/** A command with the types of its arguments and options erased. */
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

/** Returns the flag of an option: `--after-seq` for `afterSeq`. */
export function toFlag(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
