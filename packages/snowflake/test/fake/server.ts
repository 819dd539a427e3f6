/**
 * Snowflake's SQL API as its documentation describes it, with a warehouse of DuckDB behind it. It checks tokens, and on
 * request answers later (202), refuses (429, 503), and loses replies.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Binding, Refused, type Rows, type Warehouse } from './warehouse.ts';

/** The probability of each disturbance. */
export interface Faults {
  /** The statement runs, and its result has to be asked for. */
  later?: number;
  /** Like `later`, and the statement begins only after this time, perhaps when its sender is gone. */
  delayMs?: number;
  throttled?: number;
  unavailable?: number;
  /** The statement runs, and the reply is lost. */
  replyLost?: number;
  /** The statement runs a second time, up to two seconds later, as if its sender had lost its shard in the meantime. */
  twice?: number;
  /** The request is lost. */
  requestLost?: number;
}

export interface FakeOptions {
  warehouse: Warehouse;
  account: string;
  user: string;
  publicKey: KeyObject;
  faults?: Faults;
  random?: () => number;
}

interface Body {
  statement: string;
  timeout: number;
  database: string;
  schema: string;
  bindings?: Record<string, Binding>;
}

const LATEST_MS = 2_000;

type Outcome = { rows: Rows } | { refused: Refused };
type Execution = {
  handle: string;
  digest: string;
  outcome: Outcome | null;
  settled: Promise<unknown>;
  late?: Promise<unknown>;
};

export interface Seen {
  statements: number;
  retries: number;
  refusedTokens: number;
  later: number;
  throttled: number;
  lost: number;
  twice: number;
}

export class FakeSnowflake {
  readonly #options: FakeOptions;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error) => reply(response, 500, { message: String(error) }));
  });
  readonly #byRequest = new Map<string, Execution>();
  readonly #byHandle = new Map<string, Execution>();
  readonly seen: Seen = { statements: 0, retries: 0, refusedTokens: 0, later: 0, throttled: 0, lost: 0, twice: 0 };
  faults: Faults;
  /** Tokens that were issued before this are refused, in epoch seconds. */
  refuseBefore = 0;

  private constructor(options: FakeOptions) {
    this.#options = options;
    this.faults = options.faults ?? {};
  }

  static async start(options: FakeOptions): Promise<FakeSnowflake> {
    const fake = new FakeSnowflake(options);
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits for statements that are still running, whose senders may be gone. */
  async settled(): Promise<void> {
    await Promise.all([...this.#byHandle.values()].map(({ settled, late }) => late ?? settled));
    await this.#options.warehouse.settled();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.settled();
  }

  #happens(probability: number | undefined): boolean {
    return probability !== undefined && (this.#options.random ?? Math.random)() < probability;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://fake');
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    const problem = this.#tokenProblem(request);
    if (problem !== null) {
      this.seen.refusedTokens++;
      return void reply(response, 401, { code: '390144', message: `JWT token is invalid: ${problem}` });
    }
    if (this.#happens(this.faults.requestLost)) return this.#lose(response);
    if (this.#happens(this.faults.throttled)) {
      this.seen.throttled++;
      return void reply(response, 429, { code: '390189', message: 'Too many requests' }, { 'retry-after': '0.01' });
    }
    if (this.#happens(this.faults.unavailable)) return void reply(response, 503, '<html>upstream</html>');
    const handle = /^\/api\/v2\/statements\/([^/]+)$/.exec(url.pathname)?.[1];
    if (request.method === 'GET' && handle) return this.#report(response, this.#byHandle.get(handle));
    if (request.method !== 'POST' || url.pathname !== '/api/v2/statements') return void reply(response, 404, {});
    const requestId = url.searchParams.get('requestId') ?? crypto.randomUUID();
    const isRetry = url.searchParams.get('retry') === 'true';
    const known = this.#byRequest.get(requestId);
    if (known && (!isRetry || known.digest !== digestOf(body)))
      return void reply(response, 400, { code: '391903', message: 'requestId was used by another request' });
    if (isRetry) this.seen.retries++;
    const execution = known ?? this.#execute(requestId, body);
    if (this.#happens(this.faults.replyLost)) {
      await execution.settled;
      return this.#lose(response);
    }
    if (!execution.outcome && this.#happens(this.faults.later)) {
      this.seen.later++;
      return this.#report(response, execution);
    }
    await execution.settled;
    return this.#report(response, execution);
  }

  #lose(response: ServerResponse): void {
    this.seen.lost++;
    response.destroy();
  }

  #execute(requestId: string, text: string): Execution {
    this.seen.statements++;
    const { statement, bindings, database, schema, timeout } = JSON.parse(text) as Body;
    const execution: Execution = {
      handle: crypto.randomUUID(),
      digest: digestOf(text),
      outcome: null,
      settled: Promise.resolve(),
    };
    execution.settled = (async () => {
      const { delayMs } = this.faults;
      if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs * Math.random()));
      try {
        if (`${database}.${schema}` !== 'ANALYTICS.TIDEMARK' || !(timeout > 0))
          throw new Refused('Object does not exist or not authorized', '002043', '02000');
        const wanted = statement.replaceAll(/'[^']*'/g, '').split('?').length - 1;
        if (wanted !== Object.keys(bindings ?? {}).length)
          throw new Refused('Bind variables not set', '002049', '42601');
        execution.outcome = { rows: await this.#options.warehouse.run(statement, bindings) };
      } catch (error) {
        execution.outcome = { refused: error as Refused };
      }
    })();
    if (this.#happens(this.faults.twice)) {
      this.seen.twice++;
      const first = execution.settled;
      execution.late = (async () => {
        await first;
        await new Promise((resolve) => setTimeout(resolve, LATEST_MS * Math.random()));
        await this.#options.warehouse.run(statement, bindings).catch(() => {});
      })();
    }
    this.#byRequest.set(requestId, execution);
    this.#byHandle.set(execution.handle, execution);
    return execution;
  }

  #report(response: ServerResponse, execution: Execution | undefined): void {
    if (!execution) return void reply(response, 404, { code: '391918', message: 'Unable to find the statement' });
    const { handle: statementHandle, outcome } = execution;
    const statementStatusUrl = `/api/v2/statements/${statementHandle}`;
    if (!outcome)
      return void reply(response, 202, { code: '333334', message: 'in progress', statementHandle, statementStatusUrl });
    if ('refused' in outcome) {
      const { code, sqlState, message } = outcome.refused;
      return void reply(response, 422, { code, sqlState, message, statementHandle });
    }
    const { columns, rows } = outcome.rows;
    const rowType = columns.map((name) => ({ name, type: 'text' }));
    const resultSetMetaData = {
      numRows: rows.length,
      format: 'jsonv2',
      rowType,
      partitionInfo: [{ rowCount: rows.length }],
    };
    return void reply(response, 200, {
      code: '090001',
      sqlState: '00000',
      statementHandle,
      resultSetMetaData,
      data: rows,
    });
  }

  /** Returns what is wrong with the token of a request, or `null`. */
  #tokenProblem(request: IncomingMessage): string | null {
    const { account, user, publicKey } = this.#options;
    if (request.headers['x-snowflake-authorization-token-type'] !== 'KEYPAIR_JWT') return 'its type is not named';
    if (!request.headers['user-agent']) return 'no user agent';
    const [, token = ''] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
    const [head = '', claims = '', signature = ''] = token.split('.');
    const isSigned = verify(
      'RSA-SHA256',
      Buffer.from(`${head}.${claims}`),
      publicKey,
      Buffer.from(signature, 'base64url'),
    );
    if (!isSigned) return 'its signature does not match';
    const parsed = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    const { iss, sub, iat, exp } = parsed(claims) as { iss: string; sub: string; iat: number; exp: number };
    const subject = `${account.toUpperCase()}.${user.toUpperCase()}`;
    const der = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })).export({
      type: 'spki',
      format: 'der',
    });
    if (parsed(head).alg !== 'RS256') return 'its algorithm is not RS256';
    if (sub !== subject) return `its subject is not ${subject}`;
    if (iss !== `${subject}.SHA256:${createHash('sha256').update(der).digest('base64')}`) return 'its issuer is wrong';
    const now = Date.now() / 1_000;
    if (iat > now + 60 || exp < now || exp - iat > 3_600) return 'it is not valid now, or for too long';
    return iat < this.refuseBefore ? 'it was revoked' : null;
  }
}

function digestOf(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}

function reply(
  response: ServerResponse,
  status: number,
  body: object | string,
  headers: Record<string, string> = {},
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
    ...headers,
  });
  response.end(text);
}
