/** Statements for administrators, and sources for dbt. */
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { dbtSources, snowflakePlan } from '../src/index.ts';
import { LOADED_COLUMNS } from '../src/schema/columns.ts';
import { kindsOf } from './parsing.ts';
import { startFake } from './setting.ts';

test('the plan creates what a sink needs, and grants analysts nothing but the views', async () => {
  const plan = snowflakePlan({ database: 'analytics', warehouse: 'loading', user: 'tidemark', stage: 'pages' });
  for (const statement of plan) expect(kindsOf(statement), statement).toHaveLength(1);
  const toReader = plan.filter((it) => it.startsWith('GRANT') && it.endsWith('TO ROLE TIDEMARK_READER'));
  expect(toReader.map((it) => it.split(' ON ')[0])).toEqual([
    ...['GRANT USAGE', 'GRANT USAGE'],
    ...['GRANT SELECT', 'GRANT SELECT', 'GRANT SELECT', 'GRANT SELECT'],
  ]);
  expect(toReader.filter((it) => it.includes(' ON TABLE '))).toEqual([]);
  const { query, warehouse } = await startFake({ migrated: false });
  for (const statement of plan.filter((it) => !/^(GRANT|CREATE ROLE)/.test(it))) await warehouse.run(statement);
  expect(await query('SELECT MAX(VERSION)::VARCHAR AS V FROM ANALYTICS.TIDEMARK.SCHEMA_VERSIONS')).toEqual([
    { V: '1' },
  ]);
});

test('the source for dbt names columns that the views have', async () => {
  const { query } = await startFake();
  const { sources } = parseYaml(dbtSources({ database: 'analytics' })) as { sources: [Source] };
  expect(sources[0]).toMatchObject({ name: 'tidemark', database: 'ANALYTICS', schema: 'TIDEMARK' });
  for (const { name, columns, tests, loaded_at_field } of sources[0].tables) {
    const key = tests[0]!['dbt_utils.unique_combination_of_columns']!.combination_of_columns;
    const wanted = [...columns.map((column) => column.name), ...key, ...(loaded_at_field ? [loaded_at_field] : [])];
    expect(await query(`SELECT ${wanted.join(', ')} FROM ANALYTICS.TIDEMARK.${name}`)).toEqual([]);
  }
  expect(sources[0].tables.map(({ name }) => name)).toEqual(['EVENTS', 'RUNS', 'STEPS']);
});

test('a field of events that was added since needs a migration', () => {
  // If this fails, add a migration with the new columns.
  expect(LOADED_COLUMNS.map(({ name }) => name).join(' ')).toBe(
    'TENANT_ID RUN_ID RUN_SEQ EVENT_ID EVENT_TYPE EMITTED_AT PERSISTED_AT PROJECT_ID ENVIRONMENT_ID PLAN_ID ' +
      'PLAN_VERSION ENGINE_ATTEMPT_ID LOGICAL_ATTEMPT_ID IDEMPOTENCY_KEY STEP_ID LIFE PAYLOAD PAYLOAD_TEXT EXTRA ' +
      'EXTRA_TEXT ERROR_CODE ERROR_MESSAGE ERROR_RETRYABLE REDACTED',
  );
});

interface Source {
  tables: {
    name: string;
    loaded_at_field?: string;
    columns: { name: string }[];
    tests: Record<string, { combination_of_columns: string[] }>[];
  }[];
}
