/** Finds the operators and conditions of SQL in the strings of a TypeScript file. */
import type { Mutant } from './mutant.ts';

const LOOKS_LIKE_SQL = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ON CONFLICT|AND|ORDER BY)\b/;

const OPERATORS: [RegExp, string][] = [
  [/(?<= )<(?= )/g, '<='],
  [/(?<= )<=(?= )/g, '<'],
  [/(?<= )>(?= )/g, '>='],
  [/(?<= )>=(?= )/g, '>'],
  [/(?<= )<>(?= )/g, '='],
  [/\bAND\b/g, 'OR'],
  [/\bOR\b/g, 'AND'],
  [/\bNOT EXISTS\b/g, 'EXISTS'],
  [/\bIS NOT NULL\b/g, 'IS NULL'],
  [/\bIS NULL\b/g, 'IS NOT NULL'],
];

export function sqlMutants(file: string, source: string, from: number, to: number): Mutant[] {
  const text = source.slice(from, to);
  if (!LOOKS_LIKE_SQL.test(text)) return [];
  return OPERATORS.flatMap(([pattern, replacement]) =>
    [...text.matchAll(pattern)].map((match) => {
      const start = from + match.index;
      return { file, start, end: start + match[0].length, replacement };
    }),
  );
}
