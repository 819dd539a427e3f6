/** `docs/cli.md`, made from what the commands declare. */
import { type Command, flagOf } from './command.ts';
import { commands, GROUPS } from './commands/index.ts';
import { EXIT_MEANINGS } from './exit-codes.ts';
import { EFFECTS } from './help.ts';
import type { Option, Positional } from './options.ts';
import { GLOBAL_OPTIONS, optionsOf } from './program.ts';

export function renderCommandsPage(): string {
  const codes = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return `# The command line

\`tidemark\` looks into a store, keeps it healthy and serves it. It comes with \`npm install @tidemark/cli\`, and \`npx tidemark\` finds it.
This page is made from the commands by \`npm run docs\`; a test runs every example.

What a command prints on stdout is data, and nothing else: a table on a terminal, JSON lines in a pipe, or what \`--output\` says.
Notes, progress, questions and errors go to stderr. Commands that write take \`--dry-run\`; those that remove for good ask first,
and where nobody can be asked they want \`--yes\`. \`NO_COLOR\` switches colours off.

## Which store

A flag wins over the environment, that over the context in use, that over the default.

| what | flag | environment | context file | default |
| --- | --- | --- | --- | --- |
| store | \`--store\`, \`--context\` | \`TIDEMARK_STORE\`, \`TIDEMARK_CONTEXT\` | \`tidemark context use\` | \`sqlite:./.tidemark/state.db\` |
| tenant | \`--tenant\` | \`TIDEMARK_TENANT\` | \`context add --tenant\` | all, or \`default\` where a call names none |
| token of a server | never | \`TIDEMARK_TOKEN\`, \`TIDEMARK_TOKEN_FILE\` | \`context add --token-file\` | none |

## Options of every command

${optionTable(GLOBAL_OPTIONS)}

## Exit codes

| code | meaning |
| --- | --- |
${codes.join('\n')}

${nouns().map(renderNoun).join('\n')}`;
}

function nouns(): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0]!))];
}

function renderNoun(noun: string): string {
  const own = commands.filter(({ name }) => name.split(' ')[0] === noun);
  const about = GROUPS[noun] ? `## ${noun}\n\n${GROUPS[noun].summary}.\n\n` : '';
  return about + own.map((it) => renderCommand(it, about === '' ? '##' : '###')).join('\n');
}

function renderCommand(command: Command, heading: string): string {
  const { name, summary, details, effect, args, examples } = command;
  const words = Object.entries(args).map(([arg, { kind }]) => argumentText(arg, kind));
  const parts = [
    `${heading} ${name}`,
    `\`tidemark ${[name, ...words].join(' ')}\``,
    [`${summary}.`, details, EFFECTS[effect]].filter(Boolean).join(' '),
    ...(words.length > 0 ? [argumentTable(args)] : []),
    ...(Object.keys(optionsOf(command)).length > 0 ? [optionTable(optionsOf(command))] : []),
    ['```sh', ...examples.map(({ line }) => `tidemark ${line}`), '```'].join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

function argumentText(name: string, kind: Positional<unknown>['kind']): string {
  if (kind === 'many') return `<${name}...>`;
  return kind === 'one' ? `<${name}>` : `[${name}]`;
}

function argumentTable(args: Record<string, Positional<unknown>>): string {
  const rows = Object.entries(args).map(([name, { summary }]) => `| \`${name}\` | ${escaped(summary)} |`);
  return ['| argument | |', '| --- | --- |', ...rows].join('\n');
}

function optionTable(options: Record<string, Option<unknown>>): string {
  const rows = Object.entries(options).map(([name, { short, value, summary }]) => {
    const flags = `${short === undefined ? '' : `-${short}, `}${flagOf(name)}${value === undefined ? '' : ` <${value}>`}`;
    return `| \`${escaped(flags)}\` | ${escaped(summary)} |`;
  });
  return ['| option | |', '| --- | --- |', ...rows].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
