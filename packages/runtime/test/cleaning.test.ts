/** What has expired leaves every engine by itself: nobody has to call for it (KV-2, AGT-4, AGT-11). */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { ENGINES } from './engines.ts';

const AVAILABLE = new Set<string>(['sqlite', ...neededServers()]);
const LONGER_THAN_A_ROUND_MS = 20 * 60_000;

describe.each(Object.entries(ENGINES).filter(([name]) => AVAILABLE.has(name)))('the cleaner on %s', (_, makePlace) => {
  it('removes references of artifacts that have expired', { timeout: 60_000 }, async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    const place = await makePlace();
    onTestFinished(() => place.remove());
    const store = await place.open();
    onTestFinished(() => store.close());
    await store.artifacts.putText('short', { ttl: '1m' });
    const kept = await store.artifacts.putText('long', { ttl: '7d' });
    vi.setSystemTime(Date.now() + LONGER_THAN_A_ROUND_MS);
    vi.advanceTimersByTime(5_000);
    // A look would be a sweep of its own: the round that has begun is only given time.
    await sleep(3_000);
    expect(await store.artifacts.exists(kept.id)).toBe(true);
    expect((await store.artifacts.sweep()).references, 'a sweep finds nothing left to remove').toBe(0);
  });
});
