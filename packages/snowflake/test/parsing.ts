/** Parses SQL as Snowflake's dialect with a parser that is not ours. */
import { Dialect, parse } from '@polyglot-sql/sdk';

/** Returns the kinds of the statements in a text, such as `merge`, or throws what the parser says. */
export function kindsOf(text: string): string[] {
  const { success, error, ast } = parse(text, Dialect.Snowflake) as { success: boolean; error?: string; ast: object[] };
  if (!success) throw new Error(`${error}: ${text}`);
  return ast.map((statement) => Object.keys(statement)[0]!);
}
