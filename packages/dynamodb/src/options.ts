/** The options of the DynamoDB store. */
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import { checkInteger, invalidUrl, type UrlReadings, withUrlOptions } from '@tidemark/core/engine';

/** Options of `dynamodbStore`. */
export interface DynamoDbOptions extends StoreOptions {
  /**
   * `dynamodb://region/prefix`. The tables are `prefix-log` and `prefix-records`. The query may contain the options
   * below and `endpoint`: `dynamodb://eu-west-1/app?endpoint=http://127.0.0.1:8000`.
   */
  url: string;
  /** The start of the names of both tables. Default `tidemark`. Takes precedence over the path of the URL. */
  prefix?: string;
  /** The address of an emulator or a VPC endpoint. Default: the endpoint of the region. */
  endpoint?: string;
  /**
   * The number of parts into which the feed and the lists of runs are divided. Fixed when the store is first opened.
   * Each part accepts about 250 commits per second before DynamoDB splits it. Default 4.
   */
  shards?: number;
  /**
   * Whether to create missing tables when the store is opened. Default: only with an `endpoint`, because in production
   * `tidemark migrate up` or a template creates the tables.
   */
  createTables?: boolean;
  /** How long one request may take before it is retried, in milliseconds. Default 1 500. */
  requestTimeoutMs?: number;
  /**
   * Access keys. Default: the credential chain of the AWS SDK. With an endpoint on this machine, any keys, because
   * emulators do not check them.
   */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  /** `require` is always satisfied, because DynamoDB acknowledges a write only after storing it in several zones. */
  durability?: 'require';
}

/** The checked options, including options from the URL. */
export interface Settings {
  region: string;
  prefix: string;
  endpoint: string | undefined;
  shards: number;
  createTables: boolean;
  requestTimeoutMs: number;
  credentials: DynamoDbOptions['credentials'];
}

const URL_OPTIONS: UrlReadings = {
  prefix: 'text',
  endpoint: 'text',
  shards: 'number',
  createTables: 'switch',
  requestTimeoutMs: 'number',
};
const URL_RULE = 'a URL such as dynamodb://eu-west-1/app: a region, then the prefix of the tables';
const DEFAULT_SHARDS = 4;
const MAX_SHARDS = 64;
export const PREFIX_RULE = '1 to 200 letters, digits, dots, dashes and underscores';
export const PREFIX = /^[A-Za-z0-9_.-]{1,200}$/;

const LOCAL_CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };

function isLocal(endpoint: string | undefined): boolean {
  return endpoint !== undefined && /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\/?$/.test(endpoint);
}

export function readSettings(given: DynamoDbOptions): Settings {
  const options = withUrlOptions(given, URL_OPTIONS, []);
  if (typeof options.url !== 'string') throw invalidArgument('url', URL_RULE, options.url ?? null);
  const match = /^dynamodb:\/\/([a-z]{2}(?:-[a-z]+)+-\d+|local)(?:\/([^/?#]*))?$/.exec(options.url);
  if (!match) throw invalidUrl(URL_RULE, options.url);
  const prefix = options.prefix ?? (match[2] || 'tidemark');
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) throw invalidArgument('prefix', PREFIX_RULE, prefix);
  const { endpoint } = options;
  if (endpoint !== undefined && !/^https?:\/\/[^@\s]+$/.test(endpoint))
    throw invalidArgument('endpoint', 'an http or https URL without credentials');
  return {
    region: match[1]!,
    prefix,
    endpoint,
    shards: checkInteger(options.shards ?? DEFAULT_SHARDS, 'shards', 1, MAX_SHARDS),
    createTables: options.createTables ?? endpoint !== undefined,
    requestTimeoutMs: checkInteger(options.requestTimeoutMs ?? 1_500, 'requestTimeoutMs', 1),
    credentials: options.credentials ?? (isLocal(endpoint) ? LOCAL_CREDENTIALS : undefined),
  };
}
