/**
 * Readiness: the store responds and accepts a write. Reads still work when a disk is full, so a successful read alone
 * does not prove that the store is ready. The probe writes a record of 16 KiB, at most every two seconds regardless of
 * how often it is called.
 */
import { isTidemarkError, type Store } from '@tidemark/core';
import { SYSTEM_TENANT } from './auth/system-tenant.ts';

const PROBE_MS = 2_000;
const KEY = 'server.ready';
/**
 * The text that the probe writes. It is as large as common events, because a full disk may still have room for a few
 * bytes but not for an event.
 */
const PROBE = 'x'.repeat(16 * 1024);

/** Returns why the store is not ready, or `null`. */
export type Readiness = () => Promise<string | null>;

export function readinessOf(store: Store): Readiness {
  let probe: { at: number; outcome: Promise<string | null> } | undefined;
  return async () => {
    const answers = await store.ping().catch(() => false);
    if (!answers) return 'The store does not answer';
    if (probe === undefined || performance.now() - probe.at > PROBE_MS)
      probe = { at: performance.now(), outcome: writeProbe(store) };
    return probe.outcome;
  };
}

/**
 * Only a full disk counts as not ready, because a server without write access or without records can still serve reads.
 */
async function writeProbe(store: Store): Promise<string | null> {
  try {
    await store.forTenant(SYSTEM_TENANT).kv.put(KEY, { probe: PROBE });
    return null;
  } catch (error) {
    return isTidemarkError(error, 'STORAGE_FULL') ? 'The disk of the store is full' : null;
  }
}
