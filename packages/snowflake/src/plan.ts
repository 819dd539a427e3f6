/** The statements that an administrator of Snowflake runs once: schema, tables, views, roles and grants. */
import { checkSqlName, checkStageName } from './options.ts';
import { MIGRATIONS, recordVersion, versionTable } from './schema/migrations.ts';
import { VIEWS, viewStatements } from './schema/views.ts';

/** Options of `snowflakePlan`. */
export interface SnowflakePlanOptions {
  database: string;
  /** Default `TIDEMARK`. */
  schema?: string;
  /** The warehouse that the sink uses. Without it, no grant for a warehouse is printed. */
  warehouse?: string;
  /** The role of the sink, which may change the tables. Default `TIDEMARK_SINK`. */
  sinkRole?: string;
  /** The role of analysts, which may read the views. Default `TIDEMARK_READER`. */
  readerRole?: string;
  /** The user of the sink. Without it, the role is granted to no user. */
  user?: string;
  /** The stage through which the sink loads large pages. It must exist. */
  stage?: string;
}

const TABLES = ['EVENT_LOG', 'RUN_REMOVALS', 'PAGE_INBOX'];

/**
 * Returns the statements that create the tables and views of a sink and the grants that it needs. Nothing is sent to
 * Snowflake.
 *
 * @throws `INVALID_ARGUMENT` for a name that is not an identifier.
 *
 * @example
 * const statements = snowflakePlan({ database: 'ANALYTICS', warehouse: 'LOADING', user: 'TIDEMARK' });
 * console.log(statements[0]); // CREATE SCHEMA IF NOT EXISTS ANALYTICS.TIDEMARK
 */
export function snowflakePlan(options: SnowflakePlanOptions): string[] {
  const database = checkSqlName(options.database, 'database');
  const schemaName = `${database}.${checkSqlName(options.schema ?? 'TIDEMARK', 'schema')}`;
  const sink = checkSqlName(options.sinkRole ?? 'TIDEMARK_SINK', 'sinkRole');
  const reader = checkSqlName(options.readerRole ?? 'TIDEMARK_READER', 'readerRole');
  const { warehouse, user, stage } = options;
  return [
    `CREATE SCHEMA IF NOT EXISTS ${schemaName}`,
    versionTable(schemaName),
    ...MIGRATIONS.flatMap(({ version, statements }) => [...statements(schemaName), recordVersion(schemaName, version)]),
    ...viewStatements(schemaName),
    `CREATE ROLE IF NOT EXISTS ${sink}`,
    `CREATE ROLE IF NOT EXISTS ${reader}`,
    ...[sink, reader].flatMap((role) => [
      `GRANT USAGE ON DATABASE ${database} TO ROLE ${role}`,
      `GRANT USAGE ON SCHEMA ${schemaName} TO ROLE ${role}`,
    ]),
    ...TABLES.map((table) => `GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE ${schemaName}.${table} TO ROLE ${sink}`),
    `GRANT SELECT ON TABLE ${schemaName}.SCHEMA_VERSIONS TO ROLE ${sink}`,
    ...VIEWS.map((view) => `GRANT SELECT ON VIEW ${schemaName}.${view} TO ROLE ${reader}`),
    ...(warehouse === undefined
      ? []
      : [`GRANT USAGE ON WAREHOUSE ${checkSqlName(warehouse, 'warehouse')} TO ROLE ${sink}`]),
    ...(stage === undefined ? [] : [`GRANT USAGE ON STAGE ${checkStageName(stage)} TO ROLE ${sink}`]),
    ...(user === undefined ? [] : [`GRANT ROLE ${sink} TO USER ${checkSqlName(user, 'user')}`]),
  ];
}
