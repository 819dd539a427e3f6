/**
 * Reads when each server syncs acknowledged writes to disk. Only a server's monitoring endpoint shows that setting;
 * without the endpoint the result is unknown.
 */

/** The observed sync behaviour of a server. */
export interface SyncedServer {
  address: string;
  /** The server's name, as streams name their replicas; `null` when it did not answer. */
  name: string | null;
  sync: 'always' | 'later' | 'unknown';
}

const PATIENCE_MS = 2_000;

interface Settings {
  server_name?: string;
  version?: string;
  jetstream?: { config?: { sync_always?: boolean; sync_interval?: number } };
}

export function readSync(addresses: readonly string[]): Promise<SyncedServer[]> {
  return Promise.all(addresses.map(look));
}

async function look(address: string): Promise<SyncedServer> {
  try {
    const answer = await fetch(new URL('/varz', address), { signal: AbortSignal.timeout(PATIENCE_MS) });
    const { server_name, jetstream, version } = (await answer.json()) as Settings;
    const config = jetstream?.config;
    const sync = config?.sync_always
      ? 'always'
      : config && (config.sync_interval || isOld(version))
        ? 'later'
        : 'unknown';
    return { address, name: server_name ?? null, sync };
  } catch {
    return { address, name: null, sync: 'unknown' };
  }
}

/** Whether a server is older than 2.10. Such servers cannot sync every write; they sync every two minutes. */
export function isOld(version: string | undefined): boolean {
  const [major, minor] = (version ?? '').split('.').map(Number);
  return major !== undefined && minor !== undefined && (major < 2 || (major === 2 && minor < 10));
}
