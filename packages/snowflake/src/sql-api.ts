/**
 * Runs statements through Snowflake's SQL API. Each statement has a request id. After a lost reply it is retried
 * under the same id and marked as a retry, and Snowflake then returns the result of the first attempt if there was one.
 */
import { TidemarkError } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { errorOf, StatementFailed } from './errors.ts';
import type { Account } from './options.ts';

/** A value for a `?` of a statement. */
export type Bind = string | number;

export interface StatementResult {
  columns: string[];
  /** All values are texts, as the API returns them. */
  rows: (string | null)[][];
}

/** A reply of the API, of which only these members are used. */
interface Reply {
  code?: string;
  message?: string;
  sqlState?: string;
  statementHandle?: string;
  resultSetMetaData?: { rowType?: { name: string }[]; partitionInfo?: unknown[] };
  data?: (string | null)[][];
}

interface Answer {
  status: number;
  retryAfterMs: number | null;
  reply: Reply;
}

/** The code of a token that is invalid or expired. */
const INVALID_TOKEN = /^39014[0-9]$|^390318$/;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
/** Snowflake asks for a name of the client. */
const USER_AGENT = 'tidemark-snowflake/0.1';

export class SqlApi {
  readonly #account: Account;
  /** The number of requests retried since the start. */
  retries = 0;

  constructor(account: Account) {
    this.#account = account;
  }

  /**
   * Runs one statement and waits for its result.
   *
   * @throws `StatementFailed` if Snowflake refused the statement. `UNAUTHENTICATED` if it refused the key. `UNAVAILABLE`
   * if there was no result in time: the statement may have been run. `ABORTED`.
   */
  async run(statement: string, binds: readonly Bind[] = [], signal?: AbortSignal): Promise<StatementResult> {
    const { database, schema, warehouse, role, statementTimeoutMs, retryForMs } = this.#account;
    const body = JSON.stringify({
      statement,
      timeout: Math.ceil(statementTimeoutMs / 1_000),
      database,
      schema,
      ...(warehouse === undefined ? {} : { warehouse }),
      ...(role === undefined ? {} : { role }),
      ...(binds.length === 0 ? {} : { bindings: Object.fromEntries(binds.map((it, at) => [at + 1, bindingOf(it)])) }),
      parameters: { TIMEZONE: 'UTC', MULTI_STATEMENT_COUNT: '1', QUERY_TAG: 'tidemark' },
    });
    const requestId = crypto.randomUUID();
    const until = Date.now() + retryForMs;
    const isLate = () => Date.now() >= until;
    let path = `/api/v2/statements?requestId=${requestId}`;
    let isRunning = false;
    let hasRenewed = false;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#send(path, isRunning ? null : body, signal);
      if (answer?.status === 200) return resultOf(answer.reply);
      if (answer?.status === 202 && answer.reply.statementHandle !== undefined) {
        if (!isRunning) attempt = 1;
        isRunning = true;
        path = `/api/v2/statements/${encodeURIComponent(answer.reply.statementHandle)}`;
      } else if (answer?.status === 401 && !hasRenewed && INVALID_TOKEN.test(answer.reply.code ?? '')) {
        hasRenewed = true;
        this.#account.keys.renew();
      } else if (answer !== null && !isTransient(answer.status)) {
        throw errorOf(answer.status, answer.reply, this.#account);
      } else {
        this.retries++;
        if (!isRunning) path = `/api/v2/statements?requestId=${requestId}&retry=true`;
      }
      // Snowflake itself limits the time of a running statement.
      if (isLate() && !(isRunning && Date.now() < until + statementTimeoutMs))
        throw new TidemarkError(
          'UNAVAILABLE',
          `Snowflake did not answer in time${answer ? ` (${answer.status})` : ''}`,
        );
      await sleep(answer?.retryAfterMs ?? delayAfter(attempt), signal);
      if (signal?.aborted) throw aborted();
    }
  }

  /** Sends one request. Returns `null` if there was no complete reply. */
  async #send(path: string, body: string | null, signal: AbortSignal | undefined): Promise<Answer | null> {
    const limit = AbortSignal.timeout(this.#account.requestTimeoutMs);
    try {
      const response = await fetch(this.#account.endpoint + path, {
        method: body === null ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${this.#account.keys.token()}`,
          'x-snowflake-authorization-token-type': 'KEYPAIR_JWT',
          accept: 'application/json',
          'user-agent': USER_AGENT,
          ...(body === null ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === null ? {} : { body }),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      const text = await response.text();
      return { status: response.status, retryAfterMs: retryAfterOf(response), reply: parseReply(text, response.ok) };
    } catch {
      if (signal?.aborted) throw aborted();
      return null;
    }
  }
}

function bindingOf(value: Bind): { type: string; value: string } {
  return { type: typeof value === 'number' ? 'FIXED' : 'TEXT', value: String(value) };
}

/** Parses a reply. Gateways in between may send bodies that are not JSON. Results are always JSON. */
function parseReply(text: string, mustParse: boolean): Reply {
  try {
    return JSON.parse(text) as Reply;
  } catch (error) {
    if (mustParse) throw error;
    return { message: text.slice(0, 200) };
  }
}

function resultOf({ resultSetMetaData, data }: Reply): StatementResult {
  if ((resultSetMetaData?.partitionInfo?.length ?? 1) > 1)
    throw new StatementFailed('The result has several partitions, of which only the first would be read', {});
  return { columns: (resultSetMetaData?.rowType ?? []).map(({ name }) => name), rows: data ?? [] };
}

/** Whether a later request can succeed. 408 is excluded, because it reports that the statement took too long. */
function isTransient(status: number): boolean {
  return status === 429 || status >= 500;
}

function retryAfterOf(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1_000, 60_000) : null;
}

function delayAfter(attempts: number): number {
  const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempts - 1, 10));
  return longest * (0.5 + Math.random() / 2);
}

function aborted(): TidemarkError {
  return new TidemarkError('ABORTED', 'The statement was aborted; it may have been run');
}
