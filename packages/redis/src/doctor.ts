/**
 * Reports every property of the servers and their settings that weakens durability, and how to fix it (GEN-6). A check
 * without the necessary information reports `unknown`.
 */
import type { DoctorFinding } from '@tidemark/core';
import { evicts } from './durability.ts';
import type { Settings } from './options.ts';
import { parseReplicas, readFacts, type ServerFacts } from './server-facts.ts';
import type { Servers } from './servers.ts';

type Finding = Omit<DoctorFinding, 'check'>;
type Check = (facts: ServerFacts, settings: Settings) => Finding;

const OLDEST_VERSION = 7;
const MAX_LAG_SECONDS = 10;
const MAX_CLOCK_GAP_MS = 1_000;

const CHECKS: Record<string, Check> = {
  'server version': serverVersion,
  role,
  appendonly,
  appendfsync,
  'no-appendfsync-on-rewrite': noFsyncOnRewrite,
  'maxmemory-policy': eviction,
  'last write': lastWrite,
  'last rewrite': lastRewrite,
  'delayed syncs': delayedSyncs,
  replicas,
  'min-replicas-to-write': minReplicas,
  WAITAOF: waitAof,
  'cluster state': clusterState,
  login,
  clock,
};

export async function examine(servers: Servers, settings: Settings): Promise<DoctorFinding[]> {
  const all = await readFacts(servers);
  return Object.entries(CHECKS).map(([check, look]) => ({ check, ...worstOf(all, (facts) => look(facts, settings)) }));
}

const BEST_FIRST = ['ok', 'unknown', 'warn', 'fail'] as const;

/** Returns the worst finding of several masters, with the master's address. */
function worstOf(all: readonly ServerFacts[], look: (facts: ServerFacts) => Finding): Finding {
  const findings = all.map((facts) => ({ address: facts.address, finding: look(facts) }));
  findings.sort((a, b) => BEST_FIRST.indexOf(b.finding.status) - BEST_FIRST.indexOf(a.finding.status));
  const { address, finding } = findings[0]!;
  return all.length === 1 ? finding : { ...finding, message: `${address}: ${finding.message}` };
}

function ok(message: string): Finding {
  return { status: 'ok', message };
}

const UNREADABLE: Finding = {
  status: 'unknown',
  message: 'The server does not allow CONFIG GET, so this setting cannot be read',
  fix: 'Let this login use CONFIG GET, or check the settings in the console of the managed service',
};

function serverVersion({ info }: ServerFacts): Finding {
  const valkey = info.get('valkey_version');
  if (valkey) return ok(`Valkey ${valkey}`);
  const version = info.get('redis_version') ?? 'unknown';
  if (Number.parseInt(version, 10) >= OLDEST_VERSION) return ok(version);
  return {
    status: 'fail',
    message: `Redis ${version} is older than ${OLDEST_VERSION}, the oldest one that is tested`,
    fix: `Upgrade to Redis ${OLDEST_VERSION} or newer, or to Valkey`,
  };
}

function role({ info }: ServerFacts): Finding {
  if (info.get('role') === 'master') return ok('master');
  return {
    status: 'fail',
    message: 'This server is a replica and takes no writes',
    fix: 'Connect to the master, with a host name that follows failovers',
  };
}

function appendonly({ info }: ServerFacts): Finding {
  const enabled = info.get('aof_enabled');
  if (enabled === '1') return ok('yes');
  if (enabled === undefined) return { ...UNREADABLE, message: 'The server does not show aof_enabled' };
  return {
    status: 'fail',
    message: 'appendonly is no: whatever was written since the last snapshot is lost when the server ends',
    fix: 'CONFIG SET appendonly yes; CONFIG REWRITE',
  };
}

function appendfsync({ config }: ServerFacts): Finding {
  if (config === null) return UNREADABLE;
  const setting = config.get('appendfsync');
  if (setting === 'always') return ok('always');
  const loss = setting === 'everysec' ? 'the last second' : 'everything the system had not written out';
  return {
    status: 'fail',
    message: `appendfsync is ${setting}: a power cut loses ${loss} of acknowledged writes`,
    fix: 'CONFIG SET appendfsync always; CONFIG REWRITE',
  };
}

function noFsyncOnRewrite({ config }: ServerFacts): Finding {
  if (config === null) return UNREADABLE;
  if (config.get('no-appendfsync-on-rewrite') === 'no') return ok('no');
  return {
    status: 'fail',
    message: 'no-appendfsync-on-rewrite is yes: while the file is rewritten a power cut loses acknowledged writes',
    fix: 'CONFIG SET no-appendfsync-on-rewrite no; CONFIG REWRITE',
  };
}

function eviction({ config }: ServerFacts): Finding {
  if (config === null) return UNREADABLE;
  const policy = config.get('maxmemory-policy');
  if (policy === 'noeviction') return ok('noeviction');
  if (evicts(config))
    return {
      status: 'fail',
      message: `maxmemory-policy is ${policy}: when memory runs out, acknowledged writes are thrown away`,
      fix: 'CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE',
    };
  return {
    status: 'warn',
    message: `maxmemory-policy is ${policy}: nothing is thrown away only because maxmemory is 0`,
    fix: 'CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE',
  };
}

function lastWrite({ info }: ServerFacts): Finding {
  const status = info.get('aof_last_write_status');
  if (status === 'ok') return ok('ok');
  return {
    status: status === undefined ? 'unknown' : 'fail',
    message: status === undefined ? 'The server does not show it' : `The last write to the append-only file: ${status}`,
    fix: 'Check the log of the server and the space on its disk',
  };
}

function lastRewrite({ info }: ServerFacts): Finding {
  const status = info.get('aof_last_bgrewrite_status');
  if (status === 'ok') return ok('ok');
  return {
    status: status === undefined ? 'unknown' : 'warn',
    message:
      status === undefined ? 'The server does not show it' : `The last rewrite of the append-only file: ${status}`,
    fix: 'Check the log of the server and the space on its disk; then run BGREWRITEAOF',
  };
}

function delayedSyncs({ info }: ServerFacts): Finding {
  const delayed = Number(info.get('aof_delayed_fsync') ?? 0);
  if (delayed === 0) return ok('none');
  return {
    status: 'warn',
    message: `${delayed} syncs of the append-only file had to wait for the disk since the server was started`,
    fix: 'Give the server a faster or separate disk',
  };
}

function replicas(facts: ServerFacts, { waitReplicas }: Settings): Finding {
  const following = parseReplicas(facts);
  if (waitReplicas > following.length)
    return {
      status: 'fail',
      message: `${following.length} replicas follow, and waitReplicas is ${waitReplicas}: every write is OUTCOME_UNKNOWN`,
      fix: 'Start replicas, or lower waitReplicas',
    };
  if (following.length === 0) return ok('none: acknowledged writes are on this server only, and go with its disk');
  const behind = following.filter(({ state, lagSeconds }) => state !== 'online' || lagSeconds > MAX_LAG_SECONDS);
  if (behind.length > 0)
    return {
      status: 'warn',
      message: `${behind.length} of ${following.length} replicas are behind (${behind.map(({ state, lagSeconds }) => `${state}, ${lagSeconds} s`).join('; ')})`,
      fix: 'Check the log of the replicas, and the network',
    };
  if (waitReplicas < following.length)
    return {
      status: 'warn',
      message: `${following.length} replicas follow, writes wait for ${waitReplicas}: a failover to another one loses acknowledged writes`,
      fix: `Open the store with waitReplicas: ${following.length}`,
    };
  return ok(`${following.length} follow, and every write waits for them`);
}

function minReplicas(facts: ServerFacts): Finding {
  if (facts.config === null) return UNREADABLE;
  const least = Number(facts.config.get('min-replicas-to-write'));
  if (least > 0) return ok(`${least}, within ${facts.config.get('min-replicas-max-lag')} s`);
  if (parseReplicas(facts).length === 0) return ok('0, and there are no replicas');
  return {
    status: 'warn',
    message: 'min-replicas-to-write is 0: a master that is cut off goes on taking writes that a failover loses',
    fix: 'CONFIG SET min-replicas-to-write 1; CONFIG REWRITE',
  };
}

function waitAof({ hasWaitAof }: ServerFacts, { waitReplicas }: Settings): Finding {
  if (hasWaitAof === null) return { status: 'unknown', message: 'The server does not allow COMMAND INFO' };
  if (hasWaitAof) return ok('known to the server; the store waits with WAIT');
  if (waitReplicas === 0) return ok('unknown to this server, and not needed: writes wait for no replica');
  return {
    status: 'warn',
    message: 'Unknown to this server: replicas acknowledge what is in their memory, their disks are not waited for',
    fix: 'Set appendfsync always on the replicas too; Redis 7.2 and Valkey support WAITAOF',
  };
}

function clusterState({ cluster, info }: ServerFacts): Finding {
  if (info.get('cluster_enabled') !== '1') return ok('no cluster');
  const state = cluster?.get('cluster_state');
  if (state === 'ok') return ok(`ok, ${cluster!.get('cluster_size')} masters with slots`);
  return {
    status: state === undefined ? 'unknown' : 'fail',
    message:
      state === undefined ? 'The server does not allow CLUSTER INFO' : `The cluster is ${state}: it takes no commands`,
    fix: 'redis-cli --cluster check, then --cluster fix',
  };
}

/** Redis cannot make data immutable, so only restricting the login protects the log. */
function login({ login }: ServerFacts): Finding {
  if (login === null)
    return {
      status: 'unknown',
      message: 'The server does not allow ACL WHOAMI or ACL DRYRUN, so the permissions of this login cannot be read',
      fix: 'Let this login use both (+acl|whoami +acl|dryrun), or check the permissions in the console of the managed service',
    };
  if (!login.mayFlush) return ok(`${login.name} may not empty the server`);
  return {
    status: 'warn',
    message: `${login.name} may empty the server with FLUSHALL`,
    fix: 'Connect with a separate login, with the ACL shown in docs/redis.md',
  };
}

function clock({ clockAheadMs }: ServerFacts): Finding {
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_GAP_MS) return ok('agrees with that of this process');
  const direction = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return {
    status: 'warn',
    message: `The clock of the server is ${Math.abs(clockAheadMs)} ms ${direction} that of this process: leases and expiry follow the server's`,
    fix: 'Synchronise both with NTP',
  };
}
