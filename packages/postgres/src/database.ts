/**
 * Access to the server. Reads use any connection; each write uses a transaction at read committed with a synced commit
 * (GEN-9). With row-level security, both are confined to the tenants they name.
 */
import { TidemarkError } from '@tidemark/core';
import { DEFAULT_TENANT, type EngineCall, sleep } from '@tidemark/core/engine';
import { NOW, type Revisions, type SqlRunDatabase, type SqlRunTransaction, type SqlValue } from '@tidemark/sql';
import type pg from 'pg';
import { isLockTimeout, isRefused, isSerializationFailure, sqlState, translateRead, translateWrite } from './errors.ts';
import { type Client, PLANNING, types } from './pool.ts';
import type { Dialect } from './sql.ts';

/** The tenants that a transaction may see; `all` for the operator's view. */
export type Reach = readonly string[] | 'all';

const MAX_TRIES = 20;
const USES_OF_A_PLAN = 500;

export interface DatabaseSettings {
  pool: pg.Pool;
  /** How long a statement may take. */
  timeoutMs: number;
  /** Whether connections are real sessions, which keep prepared statements, rather than borrowed from a pooler. */
  sessions: boolean;
  dialect: Dialect;
  /** Whether to confine every transaction to the tenants it names. */
  rowLevelSecurity: boolean;
  /** The role that may see all tenants, for the operator's view under row-level security; `null` if there is none. */
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

  /**
   * Runs work in a transaction, and starts again after a serialisation failure. Rejects with `OUTCOME_UNKNOWN` when it
   * is unknown whether the commit happened.
   */
  async transaction<T>(reach: Reach, call: EngineCall, work: (client: Client) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#inside(reach, 'READ WRITE', work);
      } catch (error) {
        const over =
          tries >= MAX_TRIES || call.signal?.aborted || (call.deadline !== undefined && Date.now() >= call.deadline);
        // A failure before COMMIT is sent leaves nothing written.
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

  /**
   * Names the statement, so that a session parses it once. Discards the session's plans from time to time, because
   * tables grow.
   */
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

  /**
   * Set in each transaction, so that defaults of the role or database cannot weaken it, and because a pooler does not
   * keep settings.
   */
  #settingsOf(reach: Reach, mode: string): string {
    const settings = mode === 'READ WRITE' ? ['SET LOCAL synchronous_commit = on'] : [];
    if (!this.#settings.sessions) {
      for (const [name, value] of Object.entries(PLANNING)) settings.push(`SET LOCAL ${name} = ${value}`);
      settings.push(`SET LOCAL statement_timeout = ${this.#settings.timeoutMs}`);
    }
    if (this.#settings.rowLevelSecurity) {
      // Without the admin role, the operator's view is the default tenant, which holds its KV and agents.
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
   * Runs one statement as its own transaction, in one round trip. A write must set `synchronous_commit` itself. Under
   * row-level security, and behind a pooler, it is wrapped in a transaction with the settings.
   */
  async statement(
    text: string,
    values: readonly unknown[],
    reach: Reach,
    mode: 'READ ONLY' | 'READ WRITE' = 'READ WRITE',
  ): Promise<unknown[][]> {
    const query = { text: this.dialect.numbered(text), values: values as unknown[], rowMode: 'array' as const };
    if (this.#settings.rowLevelSecurity || !this.#settings.sessions) return this.#confinedStatement(query, reach, mode);
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

  /** Rethrows rejections unchanged, because the caller has a fallback for them. */
  async #confinedStatement(
    query: pg.QueryArrayConfig,
    reach: Reach,
    mode: 'READ ONLY' | 'READ WRITE',
  ): Promise<unknown[][]> {
    try {
      return await this.#inside(reach, mode, async (client) => (await client.query(query)).rows as unknown[][]);
    } catch (error) {
      if (error instanceof CommitFailure) throw error.meaning();
      throw isRefused(error) || isLockTimeout(error) ? error : translateRead(error);
    }
  }

  /** Runs work inside the caller's transaction and then restores the caller's own list of tenants. */
  async joined<T>(client: pg.ClientBase, tenants: readonly string[], work: () => Promise<T>): Promise<T> {
    if (!this.#settings.rowLevelSecurity) return work();
    const { rows } = await client.query("SELECT current_setting('tidemark.tenants', true) AS before");
    const confine = (list: string) => client.query("SELECT set_config('tidemark.tenants', $1, true)", [list]);
    await confine(JSON.stringify(tenants));
    try {
      return await work();
    } finally {
      // Fails in an aborted transaction, but its rollback also restores the list.
      await confine(rows[0].before ?? '').catch(() => {});
    }
  }
}

/** Returns the tenants of a call: the tenant it names, its view's tenant, or all for the operator. */
function reachOf(call: EngineCall, tenantId?: string): Reach {
  if (tenantId !== undefined) return [tenantId];
  return call.tenantId === undefined || call.tenantId === null ? 'all' : [call.tenantId];
}

/** PostgreSQL also accepts arrays. */
type Parameter = SqlValue | readonly SqlValue[];

export class OpenTransaction implements SqlRunTransaction {
  readonly #client: pg.ClientBase;
  readonly #dialect: Dialect;

  /** The client may be the caller's, with its own type parsers. */
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

/** A COMMIT whose reply was lost or was an error. */
class CommitFailure extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }

  meaning(): unknown {
    return translateWrite(this.cause);
  }
}

/**
 * If waiting for a synchronous standby is cancelled, the server reports success with a warning. The store treats that
 * as an unknown outcome (GEN-8).
 */
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
      'The wait for a synchronous standby was cancelled: the write is on this server, but may be lost in a failover; retry it',
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

/** Returns a name for a statement. There are only a few. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `tidemark_${names.size + 1}`;
  names.set(text, name);
  return name;
}
