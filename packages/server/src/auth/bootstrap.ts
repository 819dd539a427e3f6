/** The first admin key, for a server whose store has none yet: named by the environment and never stored. */
import { readFileSync } from 'node:fs';
import { invalidArgument } from '@tidemark/core';
import { keyText, mintKey, parseKey } from './key-text.ts';

/**
 * The key in `TIDEMARK_ADMIN_KEY`, or in the file that `TIDEMARK_ADMIN_KEY_FILE` names. It is an operator's and may do
 * everything, for as long as the server runs with it.
 */
export function bootstrapKey(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { TIDEMARK_ADMIN_KEY: key, TIDEMARK_ADMIN_KEY_FILE: file } = environment;
  if (key === undefined && file === undefined) return undefined;
  const text = (key ?? readFileSync(file!, 'utf8')).trim();
  if (parseKey(text)) return text;
  const name = key === undefined ? 'TIDEMARK_ADMIN_KEY_FILE' : 'TIDEMARK_ADMIN_KEY';
  throw invalidArgument(name, 'tmk_, 16 hex digits, a dot and 43 characters, as mintBootstrapKey gives it');
}

/** A new key for this. */
export function mintBootstrapKey(): string {
  return keyText(mintKey());
}
