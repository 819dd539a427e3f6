/** Determines what an acknowledged write survives with the current settings of the servers (GEN-6, GEN-9). */
import { type Durability, TidemarkError } from '@tidemark/core';
import type { Settings } from './options.ts';
import { parseReplicas, readFacts, type ServerFacts } from './server-facts.ts';
import type { Servers } from './servers.ts';

/** From weakest to strongest. Unknown never counts as safe. */
const WEAKEST_FIRST: readonly Durability[] = ['none', 'unknown', 'process-crash', 'host-crash', 'node-loss'];

type Waiting = Pick<Settings, 'waitReplicas'>;

/** Returns the durability of the weakest master. */
export async function durabilityOf(servers: Servers, waiting: Waiting): Promise<Durability> {
  const ranks = (await readFacts(servers)).map((facts) => WEAKEST_FIRST.indexOf(durabilityOfServer(facts, waiting)));
  return WEAKEST_FIRST[Math.min(...ranks)] ?? 'unknown';
}

function durabilityOfServer(facts: ServerFacts, { waitReplicas }: Waiting): Durability {
  const { info, config } = facts;
  if (info.get('aof_enabled') === '0') return 'none';
  if (info.get('aof_enabled') !== '1' || config === null) return 'unknown';
  if (evicts(config)) return 'none';
  const synced = config.get('appendfsync') === 'always' && config.get('no-appendfsync-on-rewrite') === 'no';
  if (!synced) return 'process-crash';
  // A failover may choose any replica, so only a write that every replica has received survives it.
  const replicas = parseReplicas(facts).length;
  return replicas > 0 && waitReplicas >= replicas ? 'node-loss' : 'host-crash';
}

export function evicts(config: ReadonlyMap<string, string>): boolean {
  return config.get('maxmemory') !== '0' && config.get('maxmemory-policy') !== 'noeviction';
}

export async function requireDurability(servers: Servers, waiting: Waiting): Promise<void> {
  const durability = await durabilityOf(servers, waiting);
  if (durability === 'host-crash' || durability === 'node-loss') return;
  throw new TidemarkError(
    'DURABILITY_TOO_WEAK',
    durability === 'unknown'
      ? 'Whether Redis keeps acknowledged writes in a power cut cannot be read: let this login use CONFIG GET'
      : 'Redis would lose acknowledged writes in a power cut: set appendonly yes, appendfsync always, no-appendfsync-on-rewrite no and maxmemory-policy noeviction',
    { current: durability },
  );
}
