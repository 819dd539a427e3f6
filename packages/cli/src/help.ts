/** Texts shared by the help and the documentation. */
import type { Command, Effect } from './command.ts';

export const EFFECTS: Readonly<Record<Effect, string>> = {
  ro: 'Only reads.',
  rw: 'Writes; --dry-run only shows what it would do.',
  destructive: 'Removes data permanently: asks first unless --yes is given; --dry-run only shows what it would do.',
};

export function examplesText({ examples }: Command): string {
  return ['Examples:', ...examples.map(({ line }) => `  $ tidemark ${line}`)].join('\n');
}
