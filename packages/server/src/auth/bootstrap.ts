/**
 * The first admin key, for a server whose store has no keys yet. The key comes from the environment and is never
 * stored.
 */
import { readFileSync } from 'node:fs';
import { invalidArgument } from '@tidemark/core';
import { keyText, mintKey, parseKey } from './key-text.ts';

/**
 * Returns the key in `TIDEMARK_ADMIN_KEY`, or in the file that `TIDEMARK_ADMIN_KEY_FILE` names; `undefined` if neither
 * is set. The key is an operator key with all scopes. It is valid while a server runs with it.
 *
 * @throws `INVALID_ARGUMENT` if the text is not a key.
 */
export function bootstrapKey(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { TIDEMARK_ADMIN_KEY: key, TIDEMARK_ADMIN_KEY_FILE: file } = environment;
  if (key === undefined && file === undefined) return undefined;
  const text = (key ?? readFileSync(file!, 'utf8')).trim();
  if (parseKey(text)) return text;
  const name = key === undefined ? 'TIDEMARK_ADMIN_KEY_FILE' : 'TIDEMARK_ADMIN_KEY';
  throw invalidArgument(name, 'tmk_, 16 hex digits, a dot and 43 characters, as mintBootstrapKey returns it');
}

/**
 * Creates a key for `bootstrapKey`.
 *
 * @example
 * const server = createServer({ store, auth: bearer({ bootstrapKey: mintBootstrapKey() }) });
 * await server.close();
 */
export function mintBootstrapKey(): string {
  return keyText(mintKey());
}
