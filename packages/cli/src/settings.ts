/**
 * Resolves the store and its settings. A flag overrides the environment, the environment overrides the context, and the
 * context overrides the default.
 */
import { readFileSync } from 'node:fs';
import { invalidArgument, TidemarkError } from '@tidemark/core';
import { checkDuration } from '@tidemark/core/engine';
import { findContext, readContexts } from './contexts.ts';
import { noFile } from './failures.ts';
import type { Io } from './io.ts';

export const DEFAULT_STORE = 'sqlite:./.tidemark/state.db';

/** The global flags that select the store. */
export interface StoreFlags {
  store?: string | undefined;
  storeFile?: string | undefined;
  context?: string | undefined;
  tenant?: string | undefined;
  timeout?: string | undefined;
  readOnly?: boolean | undefined;
  artifacts?: string | undefined;
}

export interface CallSettings {
  timeoutMs?: number;
  readOnly: boolean;
}

export interface Settings extends CallSettings {
  store: string;
  /** Where the store was configured: `--store`, `--store-file`, `TIDEMARK_STORE`, `context production`, `default`. */
  storeFrom: string;
  tenant?: string;
  /** The location of the bytes of artifacts, if they are not in the store. */
  artifacts?: string;
  /** The file from which the token was read. */
  tokenFile?: string;
  /**
   * The server token, from the environment or a file. Never set by a flag, because flags are visible to every user of
   * the machine.
   */
  token?: string;
}

/** Resolves the settings that do not depend on the store. */
export function resolveCalls(flags: StoreFlags, env: Io['env']): CallSettings {
  const timeout = flags.timeout ?? env.TIDEMARK_TIMEOUT;
  return {
    ...(timeout === undefined ? {} : { timeoutMs: checkDuration(timeout, '--timeout') }),
    readOnly: flags.readOnly === true || isOn(env.TIDEMARK_READ_ONLY),
  };
}

export function resolveSettings(flags: StoreFlags, env: Io['env']): Settings {
  const chosen = chooseStore(flags, env);
  const tenant = flags.tenant ?? env.TIDEMARK_TENANT ?? chosen.tenant;
  const token = readToken(env, chosen.tokenFile);
  const artifacts = flags.artifacts ?? (env.TIDEMARK_ARTIFACTS || undefined);
  return {
    store: chosen.store,
    storeFrom: chosen.from,
    ...(tenant === undefined ? {} : { tenant }),
    ...(token === undefined ? {} : { token }),
    ...(artifacts === undefined ? {} : { artifacts }),
    ...(chosen.tokenFile === undefined ? {} : { tokenFile: chosen.tokenFile }),
    ...resolveCalls(flags, env),
  };
}

interface ChosenStore {
  store: string;
  from: string;
  tenant?: string;
  tokenFile?: string;
}

function chooseStore(flags: StoreFlags, env: Io['env']): ChosenStore {
  const given = [flags.store, flags.storeFile, flags.context].filter((it) => it !== undefined);
  if (given.length > 1)
    throw invalidArgument('--store', 'given without --store-file and --context, which name a store too');
  if (flags.store !== undefined) return { store: flags.store, from: '--store' };
  if (flags.storeFile !== undefined) return { store: readUrl(flags.storeFile, '--store-file'), from: '--store-file' };
  if (flags.context === undefined) {
    if (env.TIDEMARK_STORE) return { store: env.TIDEMARK_STORE, from: 'TIDEMARK_STORE' };
    const path = env.TIDEMARK_STORE_FILE;
    if (path) return { store: readUrl(path, 'TIDEMARK_STORE_FILE'), from: 'TIDEMARK_STORE_FILE' };
  }
  const file = readContexts(env);
  const name = flags.context ?? env.TIDEMARK_CONTEXT ?? file.current;
  if (name === undefined) return { store: DEFAULT_STORE, from: 'default' };
  return { ...findContext(file, name), from: `context ${name}` };
}

/** Reads a URL from a file. A URL often contains a password, and arguments are visible to every user of the machine. */
export function readUrl(path: string, named: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw noFile(`The file ${path} of ${named} cannot be read: ${(cause as Error).message}`, {
      field: named,
      cause,
    });
  }
  if (text === '' || /\s/.test(text)) throw invalidArgument(named, 'a file that holds one URL and nothing else');
  return text;
}

function readToken(env: Io['env'], contextFile: string | undefined): string | undefined {
  if (env.TIDEMARK_TOKEN) return env.TIDEMARK_TOKEN;
  const file = env.TIDEMARK_TOKEN_FILE || contextFile;
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new TidemarkError('UNAUTHENTICATED', `The token file ${file} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}
