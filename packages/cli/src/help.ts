/** The parts of help and documentation that are made from what a command declares. */
import type { Command, Effect } from './command.ts';

export const EFFECTS: Readonly<Record<Effect, string>> = {
  ro: 'Only reads.',
  rw: 'Writes; --dry-run only says what it would do.',
  destructive: 'Removes for good: asks first, unless --yes; --dry-run only says what it would do.',
};

export function examplesText({ examples }: Command): string {
  return ['Examples:', ...examples.map(({ line }) => `  $ tidemark ${line}`)].join('\n');
}
