/** The database as the shared run engine sees it: rows as arrays, and work confined to the tenant of a run. */
import type { EngineCall } from '@tidemark/core/engine';
import type { SqlDatabase, SqlTransaction, SqlValue } from '../database.ts';

export interface SqlRunTransaction extends SqlTransaction {
  /** All rows a statement gives as arrays of their columns, which are cheaper to read than objects. */
  arrays(sql: string, params: readonly SqlValue[]): Promise<unknown[][]>;
}

/** Calls that name a tenant reach the rows of that tenant alone, whatever the view of the call may see. */
export interface SqlRunDatabase<Tx extends SqlRunTransaction> extends SqlDatabase {
  readArrays(sql: string, params: readonly SqlValue[], call: EngineCall, tenantId?: string): Promise<unknown[][]>;
  /** One statement that writes; returns how many rows it has written. */
  execute(sql: string, params: readonly SqlValue[], call: EngineCall, tenantId?: string): Promise<number>;
  write<T>(work: (tx: Tx) => Promise<T>, call: EngineCall, tenantId?: string): Promise<T>;
  /** A parameter that is JSON text, where its type does not follow from a column. */
  readonly json: string;
}
