/** The options of a sink, and their checks. */
import type { KeyObject } from 'node:crypto';
import { type Duration, invalidArgument, type Meter, type Store } from '@tidemark/core';
import { checkDuration, checkInteger } from '@tidemark/core/engine';
import type { ArchiveTarget } from '@tidemark/runtime';
import { KeyPair } from './key-pair.ts';

/** How to reach a schema in an account of Snowflake. */
export interface SnowflakeAccount {
  /** The identifier of the account, such as `acme-analytics`, or the address of its server in a private network. */
  account: string;
  /** The user whose public key is registered in Snowflake. */
  user: string;
  /** The private RSA key of that user: PEM text or a key object. Never logged. */
  key: string | KeyObject;
  /** The passphrase of an encrypted key. */
  passphrase?: string;
  /** The database of the sink's tables. Letters, digits and `_`. */
  database: string;
  /** The schema of the sink's tables. Default `TIDEMARK`. */
  schema?: string;
  /** The warehouse that runs the statements. Default: the default warehouse of the user. */
  warehouse?: string;
  /** The role to use. Default: the default role of the user. */
  role?: string;
  /** The address of the SQL API, such as `https://acme-analytics.privatelink.snowflakecomputing.com`. */
  endpoint?: string;
  /** How long one request may take before it is retried. Default 60 s. */
  requestTimeout?: Duration;
  /** How long one statement may take in Snowflake. Default 5 min. */
  statementTimeout?: Duration;
  /** How long to retry a statement after lost replies and refusals. The sink then starts again. Default 2 min. */
  retryFor?: Duration;
}

/** A stage through which large pages are loaded. */
export interface SnowflakeStage {
  /** The name of the stage in Snowflake, such as `ANALYTICS.TIDEMARK.PAGES`. It must have the URL of `target`. */
  name: string;
  /** The bucket behind the stage, such as `s3Target('s3://acme-lake/pages')`. */
  target: ArchiveTarget;
  /** The minimum number of events in a page for which the stage is used. Default 1 000. */
  fromEvents?: number;
}

/** Options of `createSnowflakeSink`. */
export interface SnowflakeSinkOptions extends SnowflakeAccount {
  /** The store whose events are copied. A view of a tenant copies the events of that tenant. */
  store: Store;
  /** A name of 1 to 100 characters from `A–Z a–z 0–9 _ -`. Processes with the same name share the work. Default `snowflake`. */
  name?: string;
  /**
   * Number of shards, each with one writer. Fixed at first use. Default 1, because Snowflake runs merges one after the
   * other.
   */
  shards?: number;
  /** The number of items that are read at once: 1 to 10 000, default 5 000. */
  pageSize?: number;
  /** The maximum size of the events in one statement, in bytes. Default 4 MiB. */
  pageBytes?: number;
  /** How long a process may be unresponsive before others take over its shards. Default 15 s. */
  lease?: Duration;
  /** How often rows that are no longer visible are deleted. Default 10 min. */
  purgeEvery?: Duration;
  stage?: SnowflakeStage;
  /** Receives `tidemark.sink.lag`, `tidemark.sink.events` and `tidemark.sink.errors`. */
  meter?: Meter;
  /** Called with errors of the store and of Snowflake. Nothing is lost: the sink retries. */
  onError?: (error: unknown) => void;
}

/** The checked options of an account. */
export interface Account {
  endpoint: string;
  keys: KeyPair;
  /** The names of the database and the schema, and their joined name. */
  database: string;
  schema: string;
  schemaName: string;
  warehouse: string | undefined;
  role: string | undefined;
  requestTimeoutMs: number;
  statementTimeoutMs: number;
  retryForMs: number;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const NAME_RULE = 'letters, digits and _, starting with a letter or _';
const ACCOUNT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,250}$/;
const MIB = 1024 * 1024;

export function readAccount(options: SnowflakeAccount): Account {
  const { account, user, key, passphrase, endpoint } = options;
  if (typeof account !== 'string' || !ACCOUNT.test(account))
    throw invalidArgument('account', 'an account identifier such as acme-analytics');
  if (typeof user !== 'string' || user === '') throw invalidArgument('user', 'the name of a user');
  if (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw invalidArgument('endpoint', 'a URL that starts with http: or https:');
  const database = checkSqlName(options.database, 'database');
  const schema = checkSqlName(options.schema ?? 'TIDEMARK', 'schema');
  return {
    // Underscores are not allowed in host names; Snowflake accepts hyphens instead.
    endpoint: (endpoint ?? `https://${account.replaceAll('_', '-')}.snowflakecomputing.com`).replace(/\/$/, ''),
    keys: new KeyPair({ account, user, key, ...(passphrase === undefined ? {} : { passphrase }) }),
    database,
    schema,
    schemaName: `${database}.${schema}`,
    warehouse: options.warehouse === undefined ? undefined : checkSqlName(options.warehouse, 'warehouse'),
    role: options.role === undefined ? undefined : checkSqlName(options.role, 'role'),
    requestTimeoutMs: checkDuration(options.requestTimeout ?? '60s', 'requestTimeout'),
    statementTimeoutMs: checkDuration(options.statementTimeout ?? '5m', 'statementTimeout'),
    retryForMs: checkDuration(options.retryFor ?? '2m', 'retryFor'),
  };
}

/** Returns a name in upper case, as Snowflake stores names without quotes. */
export function checkSqlName(value: unknown, field: string): string {
  if (typeof value === 'string' && NAME.test(value)) return value.toUpperCase();
  throw invalidArgument(field, NAME_RULE, value ?? null);
}

/** Returns the name of a stage, which may contain its database and schema. */
export function checkStageName(value: unknown): string {
  const parts = typeof value === 'string' ? value.split('.') : [];
  if (parts.length >= 1 && parts.length <= 3) return parts.map((part) => checkSqlName(part, 'stage.name')).join('.');
  throw invalidArgument('stage.name', 'STAGE, SCHEMA.STAGE or DATABASE.SCHEMA.STAGE', value ?? null);
}

export function checkPageBytes(value: number | undefined): number {
  return checkInteger(value ?? 4 * MIB, 'pageBytes', 1_024, 15 * MIB);
}

/** The name is part of keys in KV, by the rule of subscriptions. */
export function checkSinkName(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(value)) return value;
  throw invalidArgument('name', '1 to 100 of A–Z, a–z, 0–9, _ and -', value ?? null);
}
