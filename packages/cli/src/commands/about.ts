/** `commands` and `completion`: lists the commands and prints shell completion scripts. */

import { invalidArgument } from '@tidemark/core';
import { type Command, defineCommand, toFlag } from '../command.ts';
import { completionScript, SHELLS } from '../completion.ts';
import { one } from '../options.ts';
import type { View } from '../output.ts';

const COMMANDS: View<Command> = {
  columns: [
    { title: 'COMMAND', of: ({ name }) => name },
    { title: 'EFFECT', of: ({ effect }) => effect },
    { title: 'SUMMARY', of: ({ summary }) => summary },
  ],
  id: ({ name }) => name,
  json: ({ name, summary, details, effect, args, options, examples }) => ({
    ...{ name, summary, details, effect },
    args: Object.entries(args).map(([arg, { summary: text, kind }]) => ({ name: arg, kind, summary: text })),
    options: Object.entries(options).map(([option, { summary: text, value, choices }]) => ({
      flag: toFlag(option),
      ...{ value, choices, summary: text },
    })),
    examples: examples.map(({ line }) => `tidemark ${line}`),
  }),
};

/** Takes a function, because the list of all commands includes the commands defined here. */
export function aboutCommands(all: () => readonly Command[]): Command[] {
  const commands = defineCommand({
    name: 'commands',
    summary: 'List all commands with their effect on a store',
    effect: 'ro',
    examples: [
      { line: 'commands --json', shows: '"name":"runs list"' },
      { line: 'commands -o table', shows: 'destructive' },
    ],
    async run({ out }) {
      await out.list(all(), COMMANDS, '');
    },
  });
  const completion = defineCommand({
    name: 'completion',
    summary: 'Print a script that completes commands in a shell',
    details: 'For bash: tidemark completion bash > ~/.local/share/bash-completion/completions/tidemark',
    effect: 'ro',
    args: { shell: one(`one of ${SHELLS.join(', ')}`) },
    examples: SHELLS.map((shell) => ({ line: `completion ${shell}`, shows: 'tidemark' })) as [
      { line: string; shows: string },
    ],
    async run({ out, args }) {
      const shell = SHELLS.find((it) => it === args.shell);
      if (!shell) throw invalidArgument('shell', `one of ${SHELLS.join(', ')}`, args.shell);
      await out.raw(completionScript(shell, all()));
    },
  });
  return [commands, completion];
}
