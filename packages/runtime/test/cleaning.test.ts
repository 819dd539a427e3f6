/** Every engine removes expired data automatically (KV-2, AGT-4, AGT-11). */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { ENGINES } from './engines.ts';

const AVAILABLE = new Set<string>(['sqlite', ...neededServers()]);
const LONGER_THAN_A_ROUND_MS = 20 * 60_000;

describe.each(Object.entries(ENGINES).filter(([name]) => AVAILABLE.has(name)))(
  'the cleaner on %s',
  (_, createDatabase) => {
    it('removes expired artifact references', { timeout: 60_000 }, async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: Date.now() });
      onTestFinished(() => void vi.useRealTimers());
      const database = await createDatabase();
      onTestFinished(() => database.remove());
      const store = await database.open();
      onTestFinished(() => store.close());
      await store.artifacts.putText('short', { ttl: '1m' });
      const kept = await store.artifacts.putText('long', { ttl: '7d' });
      vi.setSystemTime(Date.now() + LONGER_THAN_A_ROUND_MS);
      vi.advanceTimersByTime(5_000);
      // Reading would sweep as well, so only wait for the cleaning round in progress.
      await sleep(3_000);
      expect(await store.artifacts.exists(kept.id)).toBe(true);
      expect((await store.artifacts.sweep()).references, 'a sweep finds nothing left to remove').toBe(0);
    });
  },
);
