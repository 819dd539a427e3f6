/** The test that an adapter stores nothing readable in a store that encrypts. */
import { encryption, type Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RAW_ENGINES } from './raw-engines.ts';

const CODEC = encryption({ keys: { now: new Uint8Array(32).fill(7) }, current: 'now' });

/** Access to the stored secrets. */
export interface Stored {
  /** Reads with a new object of the adapter, and returns a string that contains every secret. */
  read(): Promise<string>;
}

/**
 * Stores secrets with `write`, and searches the engine for them. The same search in a store that does not encrypt finds
 * them, which shows that the search covers the right data.
 */
export function testSealing(secrets: readonly string[], write: (store: Store) => Promise<Stored>): void {
  describe.each(Object.keys(RAW_ENGINES))('in a store that encrypts, on %s', (engine) => {
    it('stores nothing that is readable in the engine, and reads it again', { timeout: 60_000 }, async () => {
      const sealed = await RAW_ENGINES[engine]!(CODEC);
      onTestFinished(() => sealed.store.close());
      const plain = await RAW_ENGINES[engine]!();
      onTestFinished(() => plain.store.close());
      const stored = await write(sealed.store);
      await write(plain.store);
      const text = await stored.read();
      for (const secret of secrets) {
        expect(await sealed.contains(secret), `${secret} in the store that encrypts`).toBe(false);
        expect(await plain.contains(secret), `${secret} in the store that does not`).toBe(true);
        expect(text).toContain(secret);
      }
    });
  });
}
