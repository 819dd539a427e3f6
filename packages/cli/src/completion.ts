/** Shell completion scripts, generated from the declarations, so that pressing Tab starts no program. */
import { type Command, toFlag } from './command.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === 'fish') return fish(commands);
  return shell === 'bash' ? bash(commands) : `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;
}

const firstWord = ({ name }: Command) => name.split(' ')[0]!;
const verbOf = ({ name }: Command) => name.split(' ')[1];
const flagsOf = ({ options, effect }: Command) => [
  ...Object.keys(options).map(toFlag),
  ...(effect === 'ro' ? [] : ['--dry-run']),
  ...(effect === 'destructive' ? ['--yes'] : []),
  ...['--store', '--tenant', '--output', '--json', '--help'],
];

function bash(commands: readonly Command[]): string {
  const nouns = [...new Set(commands.map(firstWord))];
  const cases = nouns.map((noun) => {
    const verbs = commands
      .filter((it) => firstWord(it) === noun)
      .map(verbOf)
      .filter((it) => it !== undefined);
    return `    ${noun}) words="${verbs.join(' ')}" ;;`;
  });
  const flags = commands.map((it) => `    "${it.name}"*) flags="${flagsOf(it).join(' ')}" ;;`);
  return `_tidemark() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words="" flags="--help"
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${nouns.join(' ')}"
  [ "$COMP_CWORD" -gt 2 ] && words=""
  case "\${COMP_WORDS[*]:1:2}" in
${flags.join('\n')}
  esac
  [[ "$word" == -* ]] && words="$flags"
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tidemark tidemark
`;
}

function fish(commands: readonly Command[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap((command) => {
    const [noun, verb] = [firstWord(command), verbOf(command)];
    const condition = verb === undefined ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${noun}`;
    const seen = `__fish_seen_subcommand_from ${noun}${verb === undefined ? '' : `; and __fish_seen_subcommand_from ${verb}`}`;
    return [
      `complete -c tidemark -n ${quoted(condition)} -a ${verb ?? noun} -d ${quoted(command.summary)}`,
      ...flagsOf(command).map((flag) => `complete -c tidemark -n ${quoted(seen)} -l ${flag.slice(2)}`),
    ];
  });
  const nouns = [...new Set(commands.filter((it) => verbOf(it) !== undefined).map(firstWord))];
  const groups = nouns.map((noun) => `complete -c tidemark -n ${quoted('__fish_use_subcommand')} -a ${noun}`);
  return `${[...groups, ...lines].join('\n')}\n`;
}
