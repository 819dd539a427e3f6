/** Renders `docs/cli.md` from the command declarations. */
import { type Command, toFlag } from './command.ts';
import { commands, GROUPS } from './commands/index.ts';
import { EXIT_MEANINGS } from './exit-codes.ts';
import { EFFECTS } from './help.ts';
import type { Option, Positional } from './options.ts';
import { allOptions, GLOBAL_OPTIONS } from './program.ts';

export function renderCommandsPage(): string {
  const codes = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return `# The command line

\`tidemark\` inspects, maintains and serves a store. Install it with \`npm install @tidemark/cli\` and run it with \`npx tidemark\`.
This page is generated from the commands by \`npm run docs\`.

A test runs every example on the demo, which \`tidemark demo\` writes to the current folder. \`$ARTIFACT\` stands for the id of an artifact,
as \`tidemark artifacts list --session session-1\` shows it; other files and stores that examples name are yours.

Commands print only data on stdout: a table on a terminal, JSON lines in a pipe, or the form that \`--output\` selects. Notes,
progress, questions and errors go to stderr. Commands that write take \`--dry-run\`. Commands that remove data permanently ask
first; without a terminal they need \`--yes\`. \`NO_COLOR\` switches colours off.

## Which store

A flag overrides the environment, which overrides the current context, which overrides the default.

| setting | flag | environment | context file | default |
| --- | --- | --- | --- | --- |
| store | \`--store\`, \`--context\` | \`TIDEMARK_STORE\`, \`TIDEMARK_CONTEXT\` | \`tidemark context use\` | \`sqlite:./.tidemark/state.db\` |
| tenant | \`--tenant\` | \`TIDEMARK_TENANT\` | \`context add --tenant\` | all, or \`default\` for calls that need one |
| server token | never | \`TIDEMARK_TOKEN\`, \`TIDEMARK_TOKEN_FILE\` | \`context add --token-file\` | none |

## Global options

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
    ...(Object.keys(allOptions(command)).length > 0 ? [optionTable(allOptions(command))] : []),
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
    const flags = `${short === undefined ? '' : `-${short}, `}${toFlag(name)}${value === undefined ? '' : ` <${value}>`}`;
    return `| \`${escaped(flags)}\` | ${escaped(summary)} |`;
  });
  return ['| option | |', '| --- | --- |', ...rows].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
