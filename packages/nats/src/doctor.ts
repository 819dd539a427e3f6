/**
 * Reports every property of the servers and streams that weakens durability, and how to fix it (GEN-6). A check without
 * the necessary information reports `unknown`.
 */
import { type DoctorFinding, type Durability, TidemarkError } from '@tidemark/core';
import { type EngineCall, shownUrl } from '@tidemark/core/engine';
import type { Link } from './connection/link.ts';
import { isOld, readSync, type SyncedServer } from './connection/sync.ts';
import type { LostEnd } from './streams/stream-ends.ts';
import { STREAM_KINDS, type StreamInfo, safeConfig, streamInfo, streamName, weaknessesOf } from './streams/streams.ts';

type Finding = Omit<DoctorFinding, 'check'>;

/** The facts that the doctor examines. */
interface Examined {
  prefix: string;
  version: string;
  streams: StreamInfo[];
  servers: SyncedServer[];
  /** Streams that lost messages at their end. */
  lost: readonly LostEnd[];
}

export interface Examination {
  durability: Durability;
  findings: DoctorFinding[];
}

export async function examine(
  link: Link,
  prefix: string,
  monitoring: readonly string[],
  lostEnds: (call: EngineCall) => Promise<LostEnd[]>,
  call: EngineCall,
): Promise<Examination> {
  const [servers, lost, streams] = await Promise.all([
    readSync(monitoring),
    lostEnds(call),
    Promise.all(STREAM_KINDS.map((kind) => streamInfo(link, streamName(prefix, kind), call))),
  ]);
  const examined: Examined = { prefix, version: link.version, streams, servers, lost };
  const findings: DoctorFinding[] = [
    { check: 'server version', ...serverVersion(examined) },
    { check: 'sync', ...sync(examined) },
    { check: 'replicas', ...replicas(examined) },
    { check: 'replica lag', ...lag(examined) },
    ...STREAM_KINDS.map((kind, at) => ({ check: `stream ${kind}`, ...options(examined, at) })),
    { check: 'lost messages', ...lostMessages(examined) },
    { check: 'account', ...(await account(link, call)) },
  ];
  return { durability: durabilityOf(examined), findings };
}

/**
 * Replicas count only if each of them syncs a write before acknowledging it. Otherwise acknowledged writes are lost
 * when the whole cluster loses power, or when a server returns without writes that it had acknowledged.
 */
function durabilityOf(examined: Examined): Durability {
  if (examined.streams.some(({ config }) => config.storage !== 'file')) return 'none';
  const synced = syncOfAll(examined);
  if (synced !== 'always') return synced === 'unknown' ? 'unknown' : 'process-crash';
  return examined.streams.every(({ config }) => config.num_replicas >= 3) ? 'node-loss' : 'host-crash';
}

export function requireDurability({ durability, findings }: Examination): void {
  if (durability === 'host-crash' || durability === 'node-loss') return;
  const why = findings.find(({ check }) => check === 'sync')!;
  throw new TidemarkError(
    'DURABILITY_TOO_WEAK',
    `NATS could lose acknowledged writes in a power cut: ${why.message}. ${why.fix}`,
    { current: durability },
  );
}

function serverVersion({ version }: Examined): Finding {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const number = major * 1_000_000 + minor * 1_000 + patch;
  if (number < 2_009_000)
    return {
      status: 'fail',
      message: `NATS ${version} is older than 2.9, the oldest one that is tested`,
      fix: UPGRADE,
    };
  if (number >= 2_010_020 && number <= 2_010_022)
    return { status: 'fail', message: `NATS ${version} can lose a stream when its process is killed`, fix: UPGRADE };
  if (number < 2_012_003)
    return {
      status: 'warn',
      message: `NATS ${version} can lose acknowledged writes when members of a cluster are replaced while others fail`,
      fix: UPGRADE,
    };
  return ok(version);
}

const UPGRADE = 'Upgrade to nats-server 2.12.3 or newer';

function syncOfAll({ version, streams, servers }: Examined): SyncedServer['sync'] {
  if (isOld(version) || servers.some(({ sync }) => sync === 'later')) return 'later';
  const synced = new Set(servers.filter(({ sync }) => sync === 'always').map(({ name }) => name));
  const members = new Set(streams.flatMap(membersOf));
  const seen = members.size > 0 ? [...members].every((name) => synced.has(name)) : synced.size > 0;
  return seen ? 'always' : 'unknown';
}

/** Returns the servers that hold a stream; empty outside a cluster. */
function membersOf({ cluster }: StreamInfo): string[] {
  if (!cluster?.replicas?.length) return [];
  return [...(cluster.leader ? [cluster.leader] : []), ...cluster.replicas.map(({ name }) => name)];
}

function sync(examined: Examined): Finding {
  const fix = 'Set jetstream { sync_interval: always } on every server, which NATS 2.10 and newer have';
  const synced = syncOfAll(examined);
  if (synced === 'always') return ok('every server syncs before it acknowledges');
  if (synced === 'unknown')
    return {
      status: 'unknown',
      message: `When the servers sync cannot be seen${unseenOf(examined)}`,
      fix: 'Name the monitoring address of every server in the option monitoring',
    };
  return {
    status: 'fail',
    message: isOld(examined.version)
      ? `NATS ${examined.version} syncs every two minutes, after it has acknowledged: a power cut loses acknowledged writes`
      : `A server syncs after it has acknowledged: a power cut loses acknowledged writes`,
    fix,
  };
}

function unseenOf({ servers }: Examined): string {
  const unseen = servers.filter(({ sync }) => sync === 'unknown').map(({ address }) => shownUrl(address));
  return unseen.length === 0 ? '' : ` at ${unseen.join(', ')}`;
}

function replicas({ streams }: Examined): Finding {
  const counts = streams.map(({ config }) => config.num_replicas);
  const fewest = Math.min(...counts);
  if (fewest >= 3) return ok(`${fewest}: a server may be lost`);
  return {
    status: 'warn',
    message: `Some streams have ${fewest} replica${fewest === 1 ? '' : 's'}: what they hold goes with the disk of one server`,
    fix: streams
      .filter(({ config }) => config.num_replicas < 3)
      .map(({ config }) => `nats stream edit ${config.name} --replicas 3`)
      .join('; '),
  };
}

/**
 * A server that finds a damaged block drops it and everything after it, and reports that only in its log. A stream that
 * has messages but no subjects could not rebuild its index, so reads by subject find nothing in it. A stream whose last
 * sequence is lower than the recorded one lost its last messages.
 */
function lostMessages({ streams, lost, prefix }: Examined): Finding {
  const damaged = streams.filter(({ state }) => state.lost || (state.messages > 0 && !state.num_subjects));
  const dropped = damaged.map(({ config }) => config.name);
  if (dropped.length === 0 && lost.length === 0) return ok('no losses detected');
  const said = dropped.length === 0 ? [] : [`The server dropped damaged messages of ${dropped.join(', ')}`];
  for (const { stream, keptSeq, lastSeq } of lost)
    said.push(
      `${stream} lost its last messages: it had reached ${keptSeq} and was at ${lastSeq} when the loss was detected`,
    );
  const accept =
    lost.length === 0
      ? ''
      : `; to accept the loss, remove the recorded ends: nats stream purge ${prefix}-records --subject '${prefix}.records.ends.>' and nats stream purge ${prefix}-bytes --subject '${prefix}.bytes.ends.>'`;
  return {
    status: 'fail',
    message: `${said.join('; ')}; later messages may be lost too`,
    fix: `Restore the streams from a backup (nats stream restore)${accept}`,
  };
}

function lag({ streams }: Examined): Finding {
  const behind = streams.flatMap(({ config, cluster }) =>
    (cluster?.replicas ?? [])
      .filter(({ current, offline }) => !current || offline)
      .map(
        ({ name, offline, lag }) => `${name} ${offline ? 'is offline' : `is ${lag ?? 0} behind`} for ${config.name}`,
      ),
  );
  const leaderless = streams.filter(({ cluster }) => cluster?.replicas?.length && !cluster.leader);
  if (leaderless.length > 0)
    return {
      status: 'fail',
      message: `${leaderless.map(({ config }) => config.name).join(', ')} have no leader: every write waits`,
      fix: 'Bring back a majority of the servers',
    };
  if (behind.length === 0) return ok('every replica is current');
  return { status: 'warn', message: behind.join('; '), fix: 'Bring the server back, or find out why it cannot follow' };
}

function options({ prefix, streams }: Examined, at: number): Finding {
  const { config } = streams[at]!;
  const weak = weaknessesOf(config, safeConfig(prefix, STREAM_KINDS[at]!, config.num_replicas));
  if (weak.length === 0) return ok(config.name);
  return {
    status: weak.some(({ loses }) => loses) ? 'fail' : 'warn',
    message: `${config.name}: ${weak.map(({ problem }) => problem).join('; ')}`,
    fix: `Change it with \`nats stream edit ${config.name}\`; settings that cannot be edited need a new stream, under another prefix`,
  };
}

interface AccountInfo {
  storage: number;
  reserved_storage?: number;
  limits: { max_storage: number };
}

const NEARLY_FULL = 0.9;

async function account(link: Link, call: EngineCall): Promise<Finding> {
  const { storage, limits } = await link.query<AccountInfo>('INFO', undefined, call);
  if (limits.max_storage <= 0) return ok('no limit on storage but the disks');
  const share = storage / limits.max_storage;
  const message = `${Math.round(share * 100)} % of the account's storage is used`;
  if (share < NEARLY_FULL) return ok(message);
  return {
    status: 'warn',
    message,
    fix: 'Increase max_storage of the account, or delete runs; at the limit, writes are rejected',
  };
}

function ok(message: string): Finding {
  return { status: 'ok', message };
}
