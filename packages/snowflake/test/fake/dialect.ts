/** Snowflake's dialect for DuckDB: three macros, and the few constructs that DuckDB writes differently. */

/** Creates what statements of a sink use and DuckDB does not have. */
export const MACROS = [
  `CREATE MACRO PARSE_JSON(T) AS T::JSON`,
  `CREATE MACRO TO_TIMESTAMP_TZ(N, S) AS make_timestamptz(N * 1000)`,
  `CREATE MACRO DATEADD(P, N, T) AS T + to_hours(N)`,
];

const REWRITES: [RegExp, string][] = [
  // As one expression: a lateral join of DuckDB repeats the page for each of its rows, which are gigabytes.
  [
    /\(SELECT PARSE_JSON\((.+?)\) AS PAGE\) AS P, LATERAL FLATTEN\(INPUT => P\.PAGE\) AS F/g,
    `(SELECT unnest(from_json(PARSE_JSON($1), '["JSON"]')) AS VALUE) AS F`,
  ],
  [/GET_PATH\(([A-Z.]+), '([a-z_]+)'\)/g, `json_extract_string($1, '$.$2')`],
  [/\bVARIANT\b/g, 'JSON'],
];

/** Translates a statement. Everything that is not listed here runs as it was sent. */
export function toDuckDb(statement: string): string {
  return REWRITES.reduce((text, [from, to]) => text.replaceAll(from, to), statement);
}
