/** Keys are PEM text from a file or from the environment, never from the command line. */
import { readFileSync } from 'node:fs';
import { invalidArgument } from '@tidemark/core';
import type { CommandContext } from './command.ts';
import { noFile } from './failures.ts';
import { openToOthers, privacyFix } from './private-files.ts';

const VARIABLES = {
  '--key': 'TIDEMARK_CHECKPOINT_KEY',
  '--public-key': 'TIDEMARK_CHECKPOINT_PUBLIC_KEY',
  '--key-file': 'TIDEMARK_SNOWFLAKE_KEY',
} as const;
type Flag = keyof typeof VARIABLES;

/** The help text of an option that names a key file. */
export function keySummary(whose: string, flag: Flag): string {
  return `file of ${whose} (also ${VARIABLES[flag]}_FILE, or the key itself in ${VARIABLES[flag]})`;
}

export type KeyContext = Pick<CommandContext<unknown, unknown>, 'io' | 'out'>;

/** Reads a key. A flag overrides the environment. Warns when other users can read the file of a private key. */
export async function readKey({ io, out }: KeyContext, flag: Flag, given: string | undefined): Promise<string> {
  const variable = VARIABLES[flag];
  const text = io.env[variable];
  if (given === undefined && text) return text;
  const file = given ?? io.env[`${variable}_FILE`];
  if (!file) throw invalidArgument(flag, `given, or ${variable} or ${variable}_FILE set`);
  const open = flag === '--public-key' ? [] : openToOthers([file]);
  if (open.length > 0) await out.note(`Other users of this machine may read or write the key: ${privacyFix(open)}`);
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const message = `The key file ${file} cannot be read: ${(cause as Error).message}`;
    throw noFile(message, { field: flag, cause });
  }
}
