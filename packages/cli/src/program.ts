/** Builds commander's parser from the command declarations. */
import { Argument, Option as CommanderOption, Command as Parser } from 'commander';
import { STORE_SCHEMES } from 'tidemark';
import { type Command, toFlag } from './command.ts';
import { commands, GROUPS } from './commands/index.ts';
import { EFFECTS, examplesText } from './help.ts';
import type { Option } from './options.ts';
import { choice, duration, text, toggle } from './options.ts';
import { OUTPUT_FORMS } from './output.ts';

/** The options of every command. */
export const GLOBAL_OPTIONS = {
  store: text('url', `URL of the store: ${STORE_SCHEMES.map((it) => `${it}:`).join(', ')} (also TIDEMARK_STORE)`),
  storeFile: text('file', 'file that holds the URL, which keeps it out of the process list (also TIDEMARK_STORE_FILE)'),
  context: text('name', 'name of a store added with `tidemark context add` (also TIDEMARK_CONTEXT)'),
  artifacts: text('url', 's3://bucket/prefix with the bytes of artifacts (also TIDEMARK_ARTIFACTS)'),
  tenant: text('id', 'only this tenant (also TIDEMARK_TENANT)'),
  output: { ...choice(OUTPUT_FORMS, 'output form (default: table on a terminal, jsonl otherwise)'), short: 'o' },
  json: toggle('the same as --output json'),
  time: choice(['relative', 'local', 'iso'], 'how tables show times (default relative)'),
  timeout: duration('duration', 'maximum duration of a call, such as 30s (also TIDEMARK_TIMEOUT)'),
  readOnly: toggle('reject commands that write (also TIDEMARK_READ_ONLY=1)'),
} satisfies Record<string, Option<unknown>>;

const DRY_RUN = toggle('only show what would be done');
const YES = toggle('do not ask for confirmation');

/** A parsed command line. */
export interface Call {
  command: Command;
  args: Record<string, string | string[] | undefined>;
  /** The texts of each option by name, global options included. */
  texts: Record<string, string[]>;
}

/** Returns all options of a command, including `--dry-run` and `--yes` where its effect requires them. */
export function allOptions(command: Command): Record<string, Option<unknown>> {
  return {
    ...command.options,
    ...(command.effect === 'ro' ? {} : { dryRun: DRY_RUN }),
    ...(command.effect === 'destructive' ? { yes: YES } : {}),
  };
}

/** Builds a parser that passes the parsed call to `onCall`. */
export function buildParser(version: string, onCall: (call: Call) => void): Parser {
  const root = new Parser('tidemark');
  root.description('Inspect, maintain and serve a Tidemark store.').version(version, '--version');
  for (const [name, option] of Object.entries(GLOBAL_OPTIONS)) root.addOption(parserOption(name, option));
  const groups = new Map<string, Parser>();
  for (const command of commands) {
    const [first, verb] = command.name.split(' ') as [string, string?];
    const parent = GROUPS[first] ? ensureGroup(root, groups, first) : root.command(first);
    addCommand(verb === undefined ? parent : parent.command(verb), command, onCall);
  }
  return root;
}

function ensureGroup(root: Parser, groups: Map<string, Parser>, name: string): Parser {
  const known = groups.get(name);
  if (known) return known;
  const { summary, alias } = GROUPS[name]!;
  const group = root.command(name).description(summary);
  if (alias) group.alias(alias);
  groups.set(name, group);
  return group;
}

function addCommand(parser: Parser, command: Command, onCall: (call: Call) => void): void {
  parser.summary(command.summary);
  parser.description([`${command.summary}.`, command.details, EFFECTS[command.effect]].filter(Boolean).join('\n\n'));
  for (const [argument, { summary, kind }] of Object.entries(command.args))
    parser.addArgument(new Argument(argumentText(argument, kind), summary));
  for (const [option, spec] of Object.entries(allOptions(command))) parser.addOption(parserOption(option, spec));
  parser.configureHelp({ showGlobalOptions: true });
  parser.addHelpText('after', `\n${examplesText(command)}`);
  parser.action((...given: unknown[]) => {
    const names = Object.keys(command.args);
    const args = Object.fromEntries(names.map((it, at) => [it, given[at] as string | string[] | undefined]));
    const texts = Object.fromEntries(
      Object.entries(parser.optsWithGlobals()).map(([key, value]) => [
        key,
        value === true ? [''] : (value as string[]),
      ]),
    );
    onCall({ command, args, texts });
  });
}

function argumentText(name: string, kind: 'one' | 'maybe' | 'many'): string {
  if (kind === 'many') return `<${name}...>`;
  return kind === 'one' ? `<${name}>` : `[${name}]`;
}

function parserOption(name: string, { short, value, summary, repeats, isRequired }: Option<unknown>): CommanderOption {
  const flags = `${short === undefined ? '' : `-${short}, `}${toFlag(name)}${value === undefined ? '' : ` <${value}>`}`;
  const remarks = [repeats ? 'may be repeated' : '', isRequired ? 'required' : ''].filter(Boolean).join(', ');
  const option = new CommanderOption(flags, remarks === '' ? summary : `${summary} (${remarks})`);
  if (value !== undefined)
    option.argParser((given: string, before: string[] | undefined) => [...(before ?? []), given]);
  return option;
}
