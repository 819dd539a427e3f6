/** A transaction on one server of a placed store, outside of the store's own calls. */
import type pg from 'pg';
import { translateRead } from '../errors.ts';

export const BEGIN_SYNCED = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on';

/** Runs `work` between `begin` and a commit. Errors are those of a read: every such transaction can be retried. */
export async function inTransaction<T>(
  pool: pg.Pool,
  begin: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error) => {
    throw translateRead(error);
  });
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((cause: Error) => {
      broken = cause;
    });
    throw translateRead(error);
  } finally {
    client.release(broken);
  }
}
