/**
 * Whether the server can do its work: its store answers and takes a write. Reads go on when a disk is full, so an answer alone says
 * nothing about it; a record of 16 KiB is written anew, not more often than every two seconds however often it is asked.
 */
import { isTidemarkError, type Store } from '@tidemark/core';
import { SYSTEM_TENANT } from './auth/system-tenant.ts';

const PROBE_MS = 2_000;
const KEY = 'server.ready';
/** As large as common events, which would not fit any more where a few bytes still do. */
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

/** Only a full disk counts: a server that may not write, or whose store has no records, still serves its readers. */
async function writeProbe(store: Store): Promise<string | null> {
  try {
    await store.forTenant(SYSTEM_TENANT).kv.put(KEY, { probe: PROBE });
    return null;
  } catch (error) {
    return isTidemarkError(error, 'STORAGE_FULL') ? 'The disk of the store is full' : null;
  }
}
