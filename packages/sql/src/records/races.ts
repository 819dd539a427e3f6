/** Retries a transaction when another writer has created or changed a record since it was read; bounded (GEN-3). */
import { TidemarkError } from '@tidemark/core';

const MAX_RACES = 50;

/**
 * Another writer has created or changed the record since it was read. Only on engines with row locks, which do not
 * cover absent rows.
 */
export class Raced extends Error {}

/** Retries an attempt that threw `Raced` and wrote nothing. Each attempt reads again. */
export async function settleRaces<T>(attempt: () => Promise<T>): Promise<T> {
  for (let race = 0; race < MAX_RACES; race++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Raced)) throw error;
    }
  }
  throw new TidemarkError('OVERLOADED', 'Too many others write the same record; nothing was written. Try again later');
}
