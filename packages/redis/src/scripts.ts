/** The Lua scripts in `scripts/`. Every write is one script, so that it happens whole or not at all. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { JOB_STATES } from '@tidemark/core';
import { HELD_STATES } from '@tidemark/core/engine';

export interface Script {
  text: string;
  /** The SHA-1 by which the server knows the script after its first use. */
  sha: string;
}

const DIRECTORY = new URL('../scripts/', import.meta.url);

/** Tables that scripts take from core, so that they are not duplicated. */
const FROM_CORE: Record<string, string> = {
  places: `${tableOf('STATES', JOB_STATES)}\n${tableOf('HELD', HELD_STATES)}\n`,
};

function tableOf(name: string, words: readonly string[]): string {
  return `local ${name} = { ${words.map((word) => `${word} = true`).join(', ')} }`;
}

/** Joins files to one script. Each file may use the definitions of those before it. */
function scriptOf(...names: string[]): Script {
  const textOf = (name: string) => (FROM_CORE[name] ?? '') + readFileSync(new URL(`${name}.lua`, DIRECTORY), 'utf8');
  const text = names.map(textOf).join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** COMMIT, WRITE, SET and FIELDS serve several callers at once and return one answer for each. */
export const COMMIT = scriptOf('attempt', 'commit');
export const WRITE = scriptOf('attempt', 'places', 'tenants', 'requests', 'step', 'write');
export const SET = scriptOf('tenants', 'set');
export const FIELDS = scriptOf('fields');
export const REMOVE_JOURNAL = scriptOf('remove-journal');
export const RESTORE_JOURNAL = scriptOf('restore-journal');
export const FORGET_JOURNAL = scriptOf('forget-journal');
export const LIVES = scriptOf('lives');
export const REWRITE = scriptOf('rewrite');
export const LOST = scriptOf('lost');
export const DUE = scriptOf('due');
export const FORGET = scriptOf('places', 'tenants', 'forget');
export const ADD_PIECE = scriptOf('add-piece');
export const KEEP_BLOB = scriptOf('keep-blob');
export const REMOVE_BLOB = scriptOf('remove-blob');
