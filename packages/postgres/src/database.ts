/**
 * The server as the store uses it: reads on any connection, writes in a transaction of their own at read committed,
 * each with a commit that is synced (GEN-9), and with row-level security confined to the tenants they speak of.
 */
import { TidemarkError } from '@tidemark/core';
import { DEFAULT_TENANT, type EngineCall, sleep } from '@tidemark/core/engine';
import { NOW, type Revisions, type SqlRunDatabase, type SqlRunTransaction, type SqlValue } from '@tidemark/sql';
import type pg from 'pg';
import { isSerializationFailure, isUniqueViolation, sqlState, translateRead, translateWrite } from './errors.ts';
import { type Client, PLANNING, types } from './pool.ts';
import type { Dialect } from './sql.ts';

/** Whose rows a transaction may see: those of some tenants, or, for the operator's view, all. */
export type Reach = readonly string[] | 'all';

const MOST_TRIES = 20;
const USES_OF_A_PLAN = 500;

export interface DatabaseSettings {
  pool: pg.Pool;
  /** How long a statement may take. */
  timeoutMs: number;
  /** Whether connections are real sessions, which keep prepared statements, and not a pooler's loans. */
  sessions: boolean;
  dialect: Dialect;
  /** Confine every transaction to the tenants it speaks of. */
  rowLevelSecurity: boolean;
  /** The role that may see all tenants, for the operator's view under row-level security. */
  adminRole: string | null;
}

export class Database implements SqlRunDatabase<OpenTransaction> {
  readonly forUpdate = ' FOR UPDATE';
  readonly json = 'CAST(? AS json)';
  readonly revisions: Revisions = {
    next: `SELECT nextval('@kv_revision') AS revision, ${NOW} AS now`,
    latest: `SELECT last_value AS revision, ${NOW} AS now FROM @kv_revision`,
    committedInOrder: false,
  };
  readonly dialect: Dialect;
  readonly #settings: DatabaseSettings;
  readonly #uses = new WeakMap<Client, number>();

  constructor(settings: DatabaseSettings) {
    this.#settings = settings;
    this.dialect = settings.dialect;
  }

  async read<Row>(sql: string, params: readonly SqlValue[], call: EngineCall): Promise<Row[]> {
    return (await this.#read({ text: this.dialect.statement(sql), values: params as SqlValue[] }, reachOf(call)))
      .rows as Row[];
  }

  async readArrays(
    sql: string,
    params: readonly SqlValue[],
    call: EngineCall,
    tenantId?: string,
  ): Promise<unknown[][]> {
    const query = { text: this.dialect.statement(sql), values: params as SqlValue[], rowMode: 'array' as const };
    return (await this.#read(query, reachOf(call, tenantId))).rows as unknown[][];
  }

  async execute(sql: string, params: readonly SqlValue[], call: EngineCall, tenantId?: string): Promise<number> {
    return this.write((tx) => tx.run(sql, params), call, tenantId);
  }

  async #read(query: pg.QueryConfig | pg.QueryArrayConfig, reach: Reach): Promise<pg.QueryResult> {
    try {
      if (!this.#settings.rowLevelSecurity) return await this.#settings.pool.query(query as pg.QueryConfig);
      return await this.#inside(reach, 'READ ONLY', (client) => client.query(query as pg.QueryConfig));
    } catch (error) {
      throw translateRead(error);
    }
  }

  write<T>(work: (tx: OpenTransaction) => Promise<T>, call: EngineCall, tenantId?: string): Promise<T> {
    return this.transaction(reachOf(call, tenantId), call, (client) => work(new OpenTransaction(client, this.dialect)));
  }

  /** Runs work in a transaction, again from the start when it gave way to another; its outcome is known or `OUTCOME_UNKNOWN`. */
  async transaction<T>(reach: Reach, call: EngineCall, work: (client: Client) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#inside(reach, 'READ WRITE', work);
      } catch (error) {
        const over =
          tries >= MOST_TRIES || call.signal?.aborted || (call.deadline !== undefined && Date.now() >= call.deadline);
        // Until COMMIT is sent nothing is written, whatever breaks.
        if (!isSerializationFailure(error) || over)
          throw error instanceof CommitFailure ? error.meaning() : translateRead(error);
      }
      await sleep(Math.random() * Math.min(50, 2 ** tries));
    }
  }

  async #inside<T>(reach: Reach, mode: 'READ ONLY' | 'READ WRITE', work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    const notices = new SyncNotices(client);
    let broken: Error | undefined;
    try {
      await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED ${mode}; ${this.#settingsOf(reach, mode)}`);
      let result: T;
      try {
        result = await work(client);
      } catch (error) {
        await client.query('ROLLBACK').catch((cause: Error) => {
          broken = cause;
        });
        throw error;
      }
      await client.query('COMMIT').catch((error: Error) => {
        broken = error;
        throw new CommitFailure(error);
      });
      notices.check();
      return result;
    } finally {
      notices.stop();
      client.release(broken);
    }
  }

  /** The statement by a name, so that a session parses it once; its plan is made anew now and then, as tables grow. */
  async #prepared<Q extends { text: string }>(client: Client, query: Q): Promise<Q & { name: string }> {
    const uses = (this.#uses.get(client) ?? 0) + 1;
    this.#uses.set(client, uses);
    if (uses % USES_OF_A_PLAN === 0) await client.query('DISCARD PLANS');
    return { ...query, name: nameOf(query.text) };
  }

  async #connect(): Promise<Client> {
    try {
      return await this.#settings.pool.connect();
    } catch (error) {
      throw translateRead(error);
    }
  }

  /** Stated for each transaction: the defaults of role or database must not weaken it, and a pooler keeps nothing. */
  #settingsOf(reach: Reach, mode: string): string {
    const settings = mode === 'READ WRITE' ? ['SET LOCAL synchronous_commit = on'] : [];
    if (!this.#settings.sessions) {
      for (const [name, value] of Object.entries(PLANNING)) settings.push(`SET LOCAL ${name} = ${value}`);
      settings.push(`SET LOCAL statement_timeout = ${this.#settings.timeoutMs}`);
    }
    if (this.#settings.rowLevelSecurity) {
      // Without the admin role the operator's view is that of the default tenant, in which its KV and agents live.
      if (reach === 'all' && this.#settings.adminRole)
        settings.push(`SET LOCAL ROLE ${quoteName(this.#settings.adminRole)}`);
      else
        settings.push(
          `SET LOCAL tidemark.tenants = ${quote(JSON.stringify(reach === 'all' ? [DEFAULT_TENANT] : reach))}`,
        );
    }
    return settings.join('; ');
  }

  /**
   * One statement that writes and commits by itself, in one round trip. It must set `synchronous_commit` itself; under
   * row-level security, and behind a pooler, it is wrapped in a transaction that carries the settings.
   */
  async statement(text: string, values: readonly unknown[], reach: Reach): Promise<unknown[][]> {
    const query = { text: this.dialect.script(text), values: values as unknown[], rowMode: 'array' as const };
    if (this.#settings.rowLevelSecurity || !this.#settings.sessions) return this.#confinedStatement(query, reach);
    const client = await this.#connect();
    const notices = new SyncNotices(client);
    let broken: Error | undefined;
    try {
      const { rows } = await client.query(await this.#prepared(client, query));
      notices.check();
      return rows as unknown[][];
    } catch (error) {
      if (sqlState(error) === null) broken = error as Error;
      throw error;
    } finally {
      notices.stop();
      client.release(broken);
    }
  }

  /** Races are passed on as the server reports them, as without row-level security: the caller knows another way. */
  async #confinedStatement(query: pg.QueryArrayConfig, reach: Reach): Promise<unknown[][]> {
    try {
      return await this.#inside(reach, 'READ WRITE', async (client) => (await client.query(query)).rows as unknown[][]);
    } catch (error) {
      if (error instanceof CommitFailure) throw error.meaning();
      throw isUniqueViolation(error) || isSerializationFailure(error) ? error : translateRead(error);
    }
  }

  /** Work inside a transaction of the caller's, which may have a list of tenants of its own: it is put back afterwards. */
  async joined<T>(client: pg.ClientBase, tenants: readonly string[], work: () => Promise<T>): Promise<T> {
    if (!this.#settings.rowLevelSecurity) return work();
    const { rows } = await client.query("SELECT current_setting('tidemark.tenants', true) AS before");
    const confine = (list: string) => client.query("SELECT set_config('tidemark.tenants', $1, true)", [list]);
    await confine(JSON.stringify(tenants));
    try {
      return await work();
    } finally {
      // Refused in a transaction that has failed, whose rollback puts it back as well.
      await confine(rows[0].before ?? '').catch(() => {});
    }
  }
}

/** Whose rows a call may touch: those of the tenant it names, of its view's tenant, or all for the operator's. */
function reachOf(call: EngineCall, tenantId?: string): Reach {
  if (tenantId !== undefined) return [tenantId];
  return call.tenantId === undefined || call.tenantId === null ? 'all' : [call.tenantId];
}

/** PostgreSQL also takes arrays. */
type Parameter = SqlValue | readonly SqlValue[];

export class OpenTransaction implements SqlRunTransaction {
  readonly #client: pg.ClientBase;
  readonly #dialect: Dialect;

  /** The client may be a caller's own, which reads values its own way. */
  constructor(client: pg.ClientBase, dialect: Dialect) {
    this.#client = client;
    this.#dialect = dialect;
  }

  async all<Row>(sql: string, params: readonly Parameter[]): Promise<Row[]> {
    const query = { text: this.#dialect.statement(sql), values: params as Parameter[], types };
    return (await this.#client.query(query)).rows as Row[];
  }

  async arrays(sql: string, params: readonly Parameter[]): Promise<unknown[][]> {
    const query = { text: this.#dialect.statement(sql), values: params as Parameter[], types };
    return (await this.#client.query({ ...query, rowMode: 'array' })).rows;
  }

  async run(sql: string, params: readonly Parameter[]): Promise<number> {
    return (await this.#client.query(this.#dialect.statement(sql), params as Parameter[])).rowCount ?? 0;
  }
}

/** A COMMIT whose answer was lost or bad. */
class CommitFailure extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }

  meaning(): unknown {
    return translateWrite(this.cause);
  }
}

/** A cancelled wait for a synchronous standby is reported as success with a warning; to us it is not known (GEN-8). */
class SyncNotices {
  readonly #client: Client;
  #cancelled = false;
  readonly #listen = (notice: { code?: string; message?: string }) => {
    if (notice.code === '01000' && /synchronous replication/.test(notice.message ?? '')) this.#cancelled = true;
  };

  constructor(client: Client) {
    this.#client = client;
    client.on('notice', this.#listen);
  }

  check(): void {
    if (!this.#cancelled) return;
    throw new TidemarkError(
      'OUTCOME_UNKNOWN',
      'The wait for a synchronous standby was cancelled: the write is on this server, but may be lost in a failover; send it again',
    );
  }

  stop(): void {
    this.#client.off('notice', this.#listen);
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const names = new Map<string, string>();

/** A name for a statement of ours; there are a handful. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `tidemark_${names.size + 1}`;
  names.set(text, name);
  return name;
}
