/** The directory: which server each tenant is on, and the moves of tenants. Stored on the first server. */
import { invalidArgument } from '@tidemark/core';
import type pg from 'pg';
import { translateRead } from '../errors.ts';
import type { Dialect } from '../sql.ts';
import { BEGIN_SYNCED, inTransaction } from './transaction.ts';

/** The server of a tenant. `version` changes with every move. */
export interface Home {
  server: number;
  version: number;
}

export type MovePhase = 'copying' | 'switching' | 'switched' | 'done' | 'undone';

export interface Move {
  no: number;
  tenant: string;
  from: number;
  to: number;
  phase: MovePhase;
  mover: string;
  /** Milliseconds of the first server's clock. */
  moverUntil: number;
  /** Where the old server's feed ends for the tenant, and the new server's begins. Set once switched. */
  fromEnd: string | null;
  toStart: string | null;
  startedAt: number;
}

/** The changes of the directory since a version. */
export interface DirectoryNews {
  version: number;
  homes: { tenant: string; home: Home }[];
  moves: Move[];
}

interface MoveRow {
  no: number;
  tenant: string;
  from_server: number;
  to_server: number;
  phase: MovePhase;
  mover: string;
  mover_until: number;
  from_end: string | null;
  to_start: string | null;
  started_at: number;
}

/** A member of a placed store, as the directory knows it. */
export interface RegisteredServer {
  ordinal: number;
  name: string;
  adopted: boolean;
}

/** Placements that one statement records or reads. */
const TENANTS_AT_ONCE = 1_000;
const NEXT_VERSION = 'UPDATE @placement_version SET version = version + 1 RETURNING version';

export class Directory {
  readonly #pool: pg.Pool;
  readonly #dialect: Dialect;

  constructor(pool: pg.Pool, dialect: Dialect) {
    this.#pool = pool;
    this.#dialect = dialect;
  }

  /** Returns the id of the directory, which the servers remember. */
  async id(): Promise<string> {
    return (await this.#query<{ directory: string }>('SELECT directory FROM @placement_version'))[0]!.directory;
  }

  /** Records the servers that are new, and returns all. The first name is that of the server with the directory. */
  register(names: readonly string[]): Promise<RegisteredServer[]> {
    return this.change(async (client) => {
      for (const name of names)
        await this.run(
          client,
          `INSERT INTO @placement_servers (ordinal, name)
           SELECT coalesce(max(ordinal), 0) + 1, $1 FROM @placement_servers
           HAVING NOT EXISTS (SELECT 1 FROM @placement_servers WHERE name = $1)`,
          [name],
        );
      return this.run<RegisteredServer>(
        client,
        'SELECT ordinal, name, adopted FROM @placement_servers ORDER BY ordinal',
      );
    });
  }

  /** Records the tenants that a server had before it became a member. Fails if another server has one of them. */
  async adopt(server: RegisteredServer, tenants: readonly string[]): Promise<void> {
    for (let from = 0; from < tenants.length; from += TENANTS_AT_ONCE) {
      const some = tenants.slice(from, from + TENANTS_AT_ONCE);
      const taken = await this.change(async (client, version) => {
        await this.run(
          client,
          `INSERT INTO @placements (tenant, server, version) SELECT tenant, $2, $3 FROM unnest($1::text[]) AS t (tenant)
           ON CONFLICT DO NOTHING`,
          [some, server.ordinal, version],
        );
        return this.run<{ tenant: string }>(
          client,
          'SELECT tenant FROM @placements WHERE tenant = ANY ($1) AND server <> $2 LIMIT 1',
          [some, server.ordinal],
        );
      });
      if (taken.length > 0)
        throw invalidArgument(
          'servers',
          `servers that have no tenant in common: ${server.name} also has data of ${taken[0]!.tenant}`,
        );
    }
    await this.#query('UPDATE @placement_servers SET adopted = true WHERE ordinal = $1', [server.ordinal]);
  }

  /** Returns the changes after a version, and of placements only those of known tenants. */
  async news(after: number): Promise<DirectoryNews> {
    const rows = await this.#query<{ version: number; homes: string | null; moves: string | null }>(
      `SELECT v.version,
         (SELECT json_agg(json_build_array(p.tenant, p.server, p.version)) FROM @placements p
          WHERE $1 > 0 AND p.version > $1) AS homes,
         (SELECT json_agg(m ORDER BY m.no) FROM @tenant_moves m WHERE m.version > $1) AS moves
       FROM @placement_version v`,
      [after],
    );
    const { version, homes, moves } = rows[0]!;
    const changed = JSON.parse(homes ?? '[]') as [string, number, number][];
    return {
      version,
      homes: changed.map(([tenant, server, at]) => ({ tenant, home: { server, version: at } })),
      moves: (JSON.parse(moves ?? '[]') as MoveRow[]).map(moveOf),
    };
  }

  async homesOf(tenants: readonly string[]): Promise<Map<string, Home>> {
    const rows = await this.#query<Home & { tenant: string }>(
      'SELECT tenant, server, version FROM @placements WHERE tenant = ANY ($1)',
      [tenants],
    );
    return new Map(rows.map(({ tenant, server, version }) => [tenant, { server, version }]));
  }

  /** Returns a page of the placements in byte order of tenants. */
  async list(after: string | null, limit: number): Promise<{ tenant: string; server: number }[]> {
    return this.#query('SELECT tenant, server FROM @placements WHERE tenant > $1 ORDER BY tenant LIMIT $2', [
      after ?? '',
      limit,
    ]);
  }

  /** Places a tenant unless it has a server, and returns its home. */
  place(tenant: string, server: number): Promise<Home> {
    return this.change(async (client, version) => {
      await this.run(
        client,
        'INSERT INTO @placements (tenant, server, version) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [tenant, server, version],
      );
      const [home] = await this.run<Home>(client, 'SELECT server, version FROM @placements WHERE tenant = $1', [
        tenant,
      ]);
      return home!;
    });
  }

  async findMove(no: number): Promise<Move | null> {
    const [row] = await this.#query<MoveRow>('SELECT * FROM @tenant_moves WHERE no = $1', [no]);
    return row ? moveOf(row) : null;
  }

  /** Returns the moves that are neither done nor undone. */
  async openMoves(): Promise<Move[]> {
    const open = "SELECT * FROM @tenant_moves WHERE phase IN ('copying', 'switching', 'switched') ORDER BY no";
    return (await this.#query<MoveRow>(open)).map(moveOf);
  }

  /** Runs a change of the directory in a separate transaction, after all earlier changes. */
  change<T>(work: (client: pg.PoolClient, version: number) => Promise<T>): Promise<T> {
    return inTransaction(this.#pool, BEGIN_SYNCED, async (client) => {
      const [next] = await this.run<{ version: number }>(client, NEXT_VERSION);
      return work(client, next!.version);
    });
  }

  async run<Row>(client: pg.ClientBase, sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    return (await client.query(this.#dialect.numbered(sql), params as unknown[])).rows as Row[];
  }

  async #query<Row>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#pool.query(this.#dialect.numbered(sql), params as unknown[])).rows as Row[];
    } catch (error) {
      throw translateRead(error);
    }
  }
}

function moveOf(row: MoveRow): Move {
  return {
    no: Number(row.no),
    tenant: row.tenant,
    from: row.from_server,
    to: row.to_server,
    phase: row.phase,
    mover: row.mover,
    moverUntil: Number(row.mover_until),
    fromEnd: row.from_end,
    toStart: row.to_start,
    startedAt: Number(row.started_at),
  };
}
