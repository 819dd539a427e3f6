/** `sink`: copies runs and steps to Snowflake, and prints or creates the tables for that. */
import { invalidArgument } from '@tidemark/core';
import { missingPackage } from '@tidemark/core/engine';
import type { SnowflakeAccount, SnowflakeStage } from '@tidemark/snowflake';
import { openArchiveTarget } from '../archive-target.ts';
import { type KeyContext, keySummary, readKey } from '../checkpoint-keys.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choice, duration, integer, type OptionValues, required, text, withDefault } from '../options.ts';
import { untilStopped } from '../until-stopped.ts';

const PASSPHRASE = 'TIDEMARK_SNOWFLAKE_KEY_PASSPHRASE';

const PLACE = {
  database: required(text('name', 'database of the tables')),
  schema: withDefault(text('name', 'schema of the tables'), 'TIDEMARK'),
};
const ACCOUNT = {
  account: required(text('id', 'Snowflake account, such as acme-analytics')),
  user: required(text('name', 'Snowflake user with a registered public key')),
  keyFile: text('file', `${keySummary('the private key', '--key-file')}; its passphrase in ${PASSPHRASE}`),
  ...PLACE,
  warehouse: text('name', 'warehouse that runs the statements (default: that of the user)'),
  role: text('name', 'role to use (default: that of the user)'),
  endpoint: text('url', 'address of the SQL API, for private links'),
};

const run = defineCommand({
  name: 'sink snowflake',
  summary: 'Copy runs and steps to Snowflake until interrupted',
  details:
    'Follows the feed, redactions and deletions. Several processes share the work. Errors go to stderr as JSON lines, and the sink retries. Create the tables with `tidemark sink migrate` first.',
  effect: 'rw',
  options: {
    ...ACCOUNT,
    name: withDefault(text('name', 'name of the subscription'), 'snowflake'),
    shards: withDefault(integer('n', 'number of shards; fixed at first use', 1), 1),
    stage: text('name', 'Snowflake stage through which large pages are loaded'),
    stagePlace: text('url', 's3://bucket/prefix behind the stage'),
    for: duration('duration', 'stop after this time'),
  },
  examples: [
    {
      line: 'sink snowflake --account acme-analytics --user tidemark --database analytics --dry-run',
      shows: '"would":"copy runs to Snowflake"',
    },
  ],
  async run({ store, out, io, options, dryRun }) {
    const opened = await store({ withoutRetries: true });
    if (dryRun) return out.report({ dryRun: true, would: 'copy runs to Snowflake' });
    const { createSnowflakeSink } = await loadSnowflake();
    const { name, shards } = options;
    const stage = await stageOf(options);
    const sink = await createSnowflakeSink({
      ...{ ...(await accountOf(options, { io, out })), store: opened, name, shards },
      ...(stage && { stage }),
      onError: (error) => void out.note(JSON.stringify({ error: String(error) })),
    });
    try {
      await untilStopped(io.signal, options.for);
    } finally {
      await sink.stop();
    }
    await out.report({ ...sink.status() });
    return EXIT.ok;
  },
});

const plan = defineCommand({
  name: 'sink plan',
  summary: 'Print the tables, views and grants of Snowflake, or a source for dbt, without connecting',
  effect: 'ro',
  options: {
    ...PLACE,
    warehouse: text('name', 'warehouse that the sink uses'),
    user: text('name', 'user of the sink'),
    sinkRole: withDefault(text('name', 'role of the sink'), 'TIDEMARK_SINK'),
    readerRole: withDefault(text('name', 'role of analysts'), 'TIDEMARK_READER'),
    stage: text('name', 'stage through which large pages are loaded'),
    as: withDefault(choice(['sql', 'dbt'], 'what to print'), 'sql'),
  },
  examples: [
    {
      line: 'sink plan --database analytics --warehouse loading',
      shows: 'CREATE OR REPLACE VIEW ANALYTICS.TIDEMARK.RUNS',
    },
    { line: 'sink plan --database analytics --as dbt', shows: 'name: RUNS' },
  ],
  async run({ out, options }) {
    const { dbtSources, snowflakePlan } = await loadSnowflake();
    const { as, database, schema, sinkRole, readerRole, ...others } = options;
    if (as === 'dbt') return out.raw(dbtSources({ database, schema }));
    const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
    const statements = snowflakePlan({ database, schema, sinkRole, readerRole, ...given });
    await out.raw(statements.map((statement) => `${statement};\n\n`).join(''));
  },
});

const migrate = defineCommand({
  name: 'sink migrate',
  summary: 'Create or update the tables and views of Snowflake',
  details: 'Run it before the first start and after updates. `tidemark sink plan` prints the grants.',
  effect: 'rw',
  options: ACCOUNT,
  examples: [
    {
      line: 'sink migrate --account acme-analytics --user admin --database analytics --dry-run',
      shows: '"would":"migrate"',
    },
  ],
  async run({ out, io, options, dryRun }) {
    if (dryRun) return out.report({ dryRun: true, would: 'migrate' });
    const { migrateSnowflake } = await loadSnowflake();
    await out.report({ ...(await migrateSnowflake(await accountOf(options, { io, out }))) });
  },
});

async function accountOf(options: OptionValues<typeof ACCOUNT>, context: KeyContext): Promise<SnowflakeAccount> {
  const { account, user, keyFile, database, schema, warehouse, role, endpoint } = options;
  const key = await readKey(context, '--key-file', keyFile);
  const passphrase = context.io.env[PASSPHRASE];
  return {
    ...{ account, user, key, database, schema },
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(warehouse === undefined ? {} : { warehouse }),
    ...(role === undefined ? {} : { role }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

async function stageOf({
  stage,
  stagePlace,
}: {
  stage: string | undefined;
  stagePlace: string | undefined;
}): Promise<SnowflakeStage | null> {
  if (stage === undefined && stagePlace === undefined) return null;
  if (stage === undefined || stagePlace === undefined)
    throw invalidArgument(stage === undefined ? '--stage' : '--stage-place', 'given if the other is');
  return { name: stage, target: await openArchiveTarget(stagePlace) };
}

async function loadSnowflake() {
  try {
    return await import('@tidemark/snowflake');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/snowflake', 'sink');
  }
}

export const sinkCommands = [run, plan, migrate];
