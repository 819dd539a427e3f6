/** The interface of a database for the shared run engine: rows as arrays, and work confined to one tenant. */
import type { EngineCall } from '@tidemark/core/engine';
import type { SqlDatabase, SqlTransaction, SqlValue } from '../database.ts';

export interface SqlRunTransaction extends SqlTransaction {
  /** Returns all rows of a statement as arrays of columns, which are cheaper to read than objects. */
  arrays(sql: string, params: readonly SqlValue[]): Promise<unknown[][]>;
}

/** Calls that name a tenant are confined to that tenant's rows, even if the caller may see other rows. */
export interface SqlRunDatabase<Tx extends SqlRunTransaction> extends SqlDatabase {
  readArrays(sql: string, params: readonly SqlValue[], call: EngineCall, tenantId?: string): Promise<unknown[][]>;
  /** Runs one write statement and returns how many rows it has written. */
  execute(sql: string, params: readonly SqlValue[], call: EngineCall, tenantId?: string): Promise<number>;
  write<T>(work: (tx: Tx) => Promise<T>, call: EngineCall, tenantId?: string): Promise<T>;
  /** The placeholder for a JSON parameter whose type does not follow from a column. */
  readonly json: string;
}
