/** Begins again when another has made or changed a record since it was looked at; bounded (GEN-3). */
import { TidemarkError } from '@tidemark/core';
import { Raced } from './step.ts';

const MOST_RACES = 50;

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
