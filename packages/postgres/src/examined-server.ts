/** Types shared by the doctor's checks: the examined server and the findings. */
import type { DoctorFinding } from '@tidemark/core';
import type pg from 'pg';
import { translateRead } from './errors.ts';
import type { Dialect } from './sql.ts';

export type Finding = Omit<DoctorFinding, 'check'>;

/** The server under examination, on one connection. */
export interface ExaminedServer {
  pool: pg.Pool;
  client: pg.ClientBase;
  schema: string;
}

export async function withServer<T>(
  pool: pg.Pool,
  { schema }: Dialect,
  look: (server: ExaminedServer) => Promise<T>,
): Promise<T> {
  try {
    const client = await pool.connect();
    try {
      return await look({ pool, client, schema });
    } finally {
      client.release();
    }
  } catch (error) {
    throw translateRead(error);
  }
}

/** Returns a setting of this session, or `null` if the server does not show it. */
export async function settingOf(server: ExaminedServer, name: string): Promise<string | null> {
  return (await one(server, 'SELECT current_setting($1, true) AS setting', [name])).setting;
}

// biome-ignore lint/suspicious/noExplicitAny: rows are what each statement above them selects.
export type Row = Record<string, any>;

export async function all({ client }: ExaminedServer, sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query<Row>(sql, values)).rows;
}

export async function one(server: ExaminedServer, sql: string, values: unknown[] = []): Promise<Row> {
  const [row] = await all(server, sql, values);
  if (!row) throw new Error('the server showed nothing');
  return row;
}

export function ok(message: string): Finding {
  return { status: 'ok', message };
}

export function unreadable(error: unknown): Finding {
  return {
    status: 'unknown',
    message: `Could not be read: ${(error as Error).message}`,
    fix: 'Let this login read it, or run the check with another login',
  };
}
