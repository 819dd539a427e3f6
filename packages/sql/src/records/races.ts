/** Begins again when another has made or changed a record since it was looked at; bounded (GEN-3). */
import { TidemarkError } from '@tidemark/core';

const MOST_RACES = 50;

/** Another has made or changed the record since we looked; only where rows are locked, for an absent one is not. */
export class Raced extends Error {}

/** Repeats an attempt that wrote nothing when it raced; each looks afresh. */
export async function settleRaces<T>(attempt: () => Promise<T>): Promise<T> {
  for (let race = 0; race < MOST_RACES; race++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Raced)) throw error;
    }
  }
  throw new TidemarkError('OVERLOADED', 'Too many others write the same record; nothing was written. Try again later');
}
