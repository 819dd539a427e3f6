/** Finds the operators and conditions of a Lua script, outside its comments and strings. */
import type { Mutant } from './mutant.ts';

const OPPOSITES: Record<string, string> = {
  '==': '~=',
  '~=': '==',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  and: 'or',
  or: 'and',
  not: '',
};

const TOKEN = /--[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\.\.|[=~<>]=|[<>+*-]|[A-Za-z_]\w*|\s+|./gs;
/** Matches text before a binary minus. */
const ENDS_VALUE = /[\w)\]'"]$/;

interface Token {
  text: string;
  start: number;
}

export function luaMutants(file: string, source: string): Mutant[] {
  const tokens: Token[] = [...source.matchAll(TOKEN)].map((match) => ({ text: match[0], start: match.index }));
  const code = tokens.filter(({ text }) => !/^\s|^--/.test(text));
  const operators = code.flatMap(({ text, start }, at) => {
    const opposite = OPPOSITES[text];
    if (opposite === undefined || (text === '-' && !ENDS_VALUE.test(code[at - 1]?.text ?? ''))) return [];
    return [{ file, start, end: start + text.length, replacement: opposite }];
  });
  return [...operators, ...code.flatMap((token, at) => conditionMutants(file, token, code.slice(at + 1)))];
}

/** Turns `if x then` into `if true then` and `if false then`. */
function conditionMutants(file: string, { text, start }: Token, after: readonly Token[]): Mutant[] {
  if (text !== 'if' && text !== 'elseif') return [];
  const then = after.find((token) => token.text === 'then');
  if (then === undefined) return [];
  const condition = { file, start: start + text.length, end: then.start };
  return [
    { ...condition, replacement: ' true ' },
    { ...condition, replacement: ' false ' },
  ];
}
