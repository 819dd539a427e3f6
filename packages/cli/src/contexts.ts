/** Named stores in the user's configuration. `tidemark context use production` replaces a URL in every command. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { TidemarkError } from '@tidemark/core';
import { AdvisedError } from './failures.ts';
import type { Io } from './io.ts';

/** A store's URL and how to access it. */
export interface NamedContext {
  store: string;
  tenant?: string;
  /** The file that holds the server token; the token itself is never stored here. */
  tokenFile?: string;
}

export interface ContextFile {
  current?: string;
  /** The previous context, for `context use -`. */
  previous?: string;
  contexts: Record<string, NamedContext>;
}

export function contextPath(env: Io['env']): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'tidemark', 'contexts.json');
}

export function readContexts(env: Io['env']): ContextFile {
  const path = contextPath(env);
  try {
    const file = JSON.parse(readFileSync(path, 'utf8')) as ContextFile;
    return { ...file, contexts: file.contexts ?? {} };
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return { contexts: {} };
    throw new TidemarkError('STORAGE_ERROR', `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Replaces the file atomically. Only its owner can read the file, because a URL may contain a password. */
export function writeContexts(env: Io['env'], file: ContextFile): void {
  const path = contextPath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unfinished = `${path}.${process.pid}`;
  // A leftover file of another process may be readable by other users.
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(unfinished, path);
}

export function findContext(file: ContextFile, name: string): NamedContext {
  const found = Object.hasOwn(file.contexts, name) ? file.contexts[name] : undefined;
  if (found) return found;
  const names = Object.keys(file.contexts).join(', ') || 'none yet';
  const advice = 'Name one of these, or add it with `tidemark context add`.';
  throw new AdvisedError(advice, 'NOT_FOUND', `There is no context ${JSON.stringify(name)}; there are: ${names}`, {
    field: 'context',
  });
}
