/** A `sources.yml` for dbt: the views of a sink, with tests and a limit of their age. */
import { checkSqlName } from './options.ts';

/** Options of `dbtSources`. */
export interface DbtSourceOptions {
  database: string;
  /** Default `TIDEMARK`. */
  schema?: string;
}

interface DbtTable {
  name: string;
  description: string;
  key: string[];
  values?: Record<string, string[]>;
}

const RUN_KEY = ['TENANT_ID', 'RUN_ID', 'LIFE'];
const TABLES: DbtTable[] = [
  {
    name: 'EVENTS',
    description: 'One row per event that is in the store or in an archive.',
    key: [...RUN_KEY, 'RUN_SEQ'],
  },
  {
    name: 'RUNS',
    description: 'One row per run, with its status, duration, error and lag.',
    key: RUN_KEY,
    values: { STATUS: ['PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] },
  },
  {
    name: 'STEPS',
    description: 'One row per step of a run, with its status, attempts, duration and error.',
    key: [...RUN_KEY, 'STEP_ID'],
    values: { STATUS: ['RUNNING', 'SUCCESS', 'FAILED', 'SKIPPED'] },
  },
];

/**
 * Returns a `sources.yml` for dbt. The tests of unique keys need the package `dbt_utils`.
 *
 * @throws `INVALID_ARGUMENT` for a name that is not an identifier.
 *
 * @example
 * console.log(dbtSources({ database: 'ANALYTICS' }).split('\n')[0]); // version: 2
 */
export function dbtSources({ database, schema = 'TIDEMARK' }: DbtSourceOptions): string {
  return [
    'version: 2',
    'sources:',
    '  - name: tidemark',
    `    database: ${checkSqlName(database, 'database')}`,
    `    schema: ${checkSqlName(schema, 'schema')}`,
    '    tables:',
    ...TABLES.flatMap(tableLines),
    '',
  ].join('\n');
}

function tableLines({ name, description, key, values = {} }: DbtTable): string[] {
  // A step has no load time, so its freshness cannot be tested.
  const freshness = [
    '        loaded_at_field: LOADED_AT',
    '        freshness:',
    '          warn_after: { count: 1, period: hour }',
    '          error_after: { count: 1, period: day }',
  ];
  return [
    `      - name: ${name}`,
    `        description: ${description}`,
    ...(name === 'STEPS' ? [] : freshness),
    '        tests:',
    '          - dbt_utils.unique_combination_of_columns:',
    `              combination_of_columns: [${key.join(', ')}]`,
    '        columns:',
    ...key.flatMap((column) => [`          - name: ${column}`, '            tests: [not_null]']),
    ...Object.entries(values).flatMap(([column, allowed]) => [
      `          - name: ${column}`,
      '            tests:',
      '              - not_null',
      '              - accepted_values:',
      `                  values: [${allowed.join(', ')}]`,
    ]),
  ];
}
