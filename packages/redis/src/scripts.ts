/** The Lua scripts in `scripts/`. Every write is one script, so that it is applied completely or not at all. */
import { createHash } from 'node:crypto';
import { JOB_STATES } from '@tidemark/core';
import { HELD_STATES } from '@tidemark/core/engine';
import { TEXTS } from './text-files.ts';

export interface Script {
  text: string;
  /** The SHA-1 with which the server identifies the script after its first use. */
  sha: string;
}

/** Tables that are defined elsewhere. They are inserted into scripts, so that they are not duplicated. */
const TABLES: Record<string, string> = {
  'index-keys': `${luaTable('STATES', JOB_STATES)}\n${luaTable('HELD', HELD_STATES)}\n`,
};

function luaTable(name: string, words: readonly string[]): string {
  return `local ${name} = { ${words.map((word) => `${word} = true`).join(', ')} }`;
}

/** Joins files into one script. A file may use the definitions of earlier files. */
function loadScript(...names: string[]): Script {
  const readFile = (name: string) => (TABLES[name] ?? '') + TEXTS[`${name}.lua`];
  const text = names.map(readFile).join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** COMMIT, WRITE and CHANGE serve several callers at once and return one reply per caller. */
export const COMMIT = loadScript('attempt', 'commit');
export const WRITE = loadScript('attempt', 'clock', 'places', 'index-keys', 'tenants', 'requests', 'step', 'write');
export const CLAIM_FIRST = loadScript(...['attempt', 'clock', 'revisions', 'places', 'requests', 'claim-first']);
export const CHANGE = loadScript('attempt', 'clock', 'revisions', 'places', 'tenants', 'change');
export const REMOVE_JOURNAL = loadScript('notices', 'remove-journal');
export const RESTORE_JOURNAL = loadScript('notices', 'restore-journal');
export const FORGET_JOURNAL = loadScript('forget-journal');
export const LIVES = loadScript('lives');
export const REWRITE = loadScript('notices', 'rewrite');
export const LOST = loadScript('lost');
export const DUE = loadScript('due');
export const FORGET = loadScript('places', 'index-keys', 'tenants', 'forget');
export const ADD_PIECE = loadScript('add-piece');
export const KEEP_BLOB = loadScript('keep-blob');
export const REMOVE_BLOB = loadScript('remove-blob');
