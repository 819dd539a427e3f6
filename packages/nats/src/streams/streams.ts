/**
 * The streams of a store. They are configured so that nothing in them is ever dropped or changed, and their settings
 * are read back, because servers silently ignore options that they do not know.
 */
import { invalidArgument, TidemarkError } from '@tidemark/core';
import { type EngineCall, NEWEST_CHAIN_FORMAT } from '@tidemark/core/engine';
import type { Link } from '../connection/link.ts';
import { NO_REPLICAS, NO_STREAM, RefusedByServer, STREAM_EXISTS, SUBJECTS_TAKEN } from '../errors.ts';

/**
 * The number of versions kept of each record, so that slow watches receive every version and the outcome of a lost
 * acknowledgement can be determined.
 */
const RECORD_VERSIONS = 8;

/** How long the server keeps request ids. It is longer than required, because the clocks of writers differ. */
const REQUESTS_MAX_AGE_MS = 15 * 60_000;
const NANOSECONDS_PER_MS = 1_000_000;

/** Runs, journals of agents, records, spilled bytes, and request ids that have left their record. */
export const STREAM_KINDS = ['runs', 'journals', 'records', 'bytes', 'requests'] as const;
export type StreamKind = (typeof STREAM_KINDS)[number];

/** The description of the stream of runs in a new store. It names the newest format that writers may use. */
export const NEWEST_MARKER = `tidemark format ${NEWEST_CHAIN_FORMAT}`;

export interface StreamConfig {
  name: string;
  description?: string;
  subjects: string[];
  storage: string;
  retention: string;
  discard: string;
  num_replicas: number;
  max_msgs: number;
  max_bytes: number;
  max_age: number;
  max_msgs_per_subject: number;
  max_msg_size: number;
  deny_delete: boolean;
  deny_purge: boolean;
  allow_direct: boolean;
  allow_rollup_hdrs: boolean;
  no_ack?: boolean;
  sealed?: boolean;
  persist_mode?: string;
}

export interface StreamInfo {
  config: StreamConfig;
  state: { last_seq: number; messages: number; num_subjects?: number; lost?: object };
  cluster?: {
    leader?: string;
    replicas?: { name: string; current: boolean; offline?: boolean; lag?: number; active: number }[];
  };
}

export function streamName(prefix: string, kind: StreamKind): string {
  return `${prefix}-${kind}`;
}

/** Returns the prefix that the subjects of all messages in a stream share. */
export function streamSubject(prefix: string, kind: StreamKind): string {
  return `${prefix}.${kind}`;
}

export function safeConfig(prefix: string, kind: StreamKind, replicas: number): StreamConfig {
  return {
    name: streamName(prefix, kind),
    ...(kind === 'runs' ? { description: NEWEST_MARKER } : undefined),
    subjects: [`${streamSubject(prefix, kind)}.>`],
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    num_replicas: replicas,
    max_msgs: -1,
    max_bytes: -1,
    max_age: kind === 'requests' ? REQUESTS_MAX_AGE_MS * NANOSECONDS_PER_MS : 0,
    max_msgs_per_subject: kind === 'records' || kind === 'requests' ? RECORD_VERSIONS : -1,
    max_msg_size: -1,
    deny_delete: true,
    deny_purge: false,
    allow_direct: false,
    allow_rollup_hdrs: false,
  };
}

/** Creates missing streams. Throws if an existing stream has unsafe settings. */
export async function prepareStreams(
  link: Link,
  prefix: string,
  replicas: number | undefined,
  call: EngineCall,
): Promise<void> {
  const wanted = replicas ?? (link.cluster === undefined ? 1 : 3);
  await Promise.all(STREAM_KINDS.map((kind) => prepareStream(link, safeConfig(prefix, kind, wanted), replicas, call)));
}

export function streamInfo(link: Link, name: string, call: EngineCall): Promise<StreamInfo> {
  return link.query<StreamInfo>(`STREAM.INFO.${name}`, undefined, call);
}

async function prepareStream(
  link: Link,
  safe: StreamConfig,
  replicas: number | undefined,
  call: EngineCall,
): Promise<void> {
  if (!(await isThere(link, safe.name, call))) await createStream(link, safe, call);
  const { config } = await streamInfo(link, safe.name, call);
  const weak = weaknessesOf(config, safe).filter(({ loses }) => loses);
  if (weak.length > 0) throw refusal(safe.name, weak.map(({ problem }) => problem).join('; '));
  if (replicas !== undefined && config.num_replicas !== replicas)
    throw refusal(safe.name, `it has ${config.num_replicas} replicas, not the ${replicas} that were asked for`);
}

async function isThere(link: Link, name: string, call: EngineCall): Promise<boolean> {
  try {
    await link.query(`STREAM.INFO.${name}`, undefined, call, NO_STREAM);
    return true;
  } catch (error) {
    if (error instanceof RefusedByServer && error.code === NO_STREAM) return false;
    throw error;
  }
}

/** Creates a stream, unless another process was faster. */
async function createStream(link: Link, safe: StreamConfig, call: EngineCall): Promise<void> {
  try {
    await link.query(`STREAM.CREATE.${safe.name}`, safe, call);
  } catch (error) {
    const code = error instanceof RefusedByServer ? error.code : undefined;
    if (code === NO_REPLICAS) throw invalidArgument('replicas', '1 on a server that is alone', safe.num_replicas);
    if (code === SUBJECTS_TAKEN) await requireSubjects(link, safe, call);
    else if (code !== STREAM_EXISTS) throw error;
  }
}

/**
 * Throws if another stream has the subjects. The server also reports this if another process created this stream
 * between two of the server's checks.
 */
async function requireSubjects(link: Link, { name, subjects }: StreamConfig, call: EngineCall): Promise<void> {
  for (const subject of subjects) {
    const { streams } = await link.query<{ streams: string[] | null }>('STREAM.NAMES', { subject }, call);
    const strangers = streams?.filter((other) => other !== name) ?? [];
    if (strangers.length > 0)
      throw invalidArgument('prefix', `one whose subjects are free: ${strangers.join(', ')} has ${subject}`);
  }
}

/** A setting of a stream that differs from the required value. */
export interface Weakness {
  setting: keyof StreamConfig;
  problem: string;
  /** Whether the setting can lose an acknowledged write, or make a read miss one. */
  loses: boolean;
}

export function weaknessesOf(config: StreamConfig, safe: StreamConfig): Weakness[] {
  const found: Weakness[] = [];
  const compare = (setting: keyof StreamConfig, means: string, loses = true) => {
    const [is, should] = [config[setting] ?? false, safe[setting] ?? false];
    if (String(is) !== String(should)) found.push({ setting, problem: `${setting} is ${is}: ${means}`, loses });
  };
  compare('storage', 'a restart of the server loses everything');
  compare('retention', 'what somebody has read is removed');
  compare('discard', 'at a limit, the oldest is dropped in silence');
  const dropsEarly = config.max_age !== 0 && (safe.max_age === 0 || config.max_age < safe.max_age);
  compare(
    'max_age',
    dropsEarly ? 'what is older is dropped' : 'what is old is kept for longer than it need be',
    dropsEarly,
  );
  compare('max_msgs', 'at that many messages writes are refused', config.discard !== 'new');
  compare('max_bytes', 'at that size writes are refused', config.discard !== 'new');
  compare('max_msgs_per_subject', 'older commits of a run, or versions of a record, are dropped');
  compare('allow_rollup_hdrs', 'a single message can replace a whole run');
  compare('allow_direct', 'a read may be answered by a server that is behind');
  compare('no_ack', 'nothing is acknowledged');
  compare('sealed', 'nothing can be written');
  compare('deny_delete', 'single events can be deleted');
  if (config.persist_mode === 'async')
    found.push({
      setting: 'persist_mode',
      problem: 'persist_mode is async: what is acknowledged need not be stored',
      loses: true,
    });
  const missing = safe.subjects.filter((subject) => !config.subjects?.includes(subject));
  if (missing.length > 0)
    found.push({
      setting: 'subjects',
      problem: `subjects lack ${missing.join(', ')}: writes find no stream`,
      loses: true,
    });
  return found;
}

function refusal(name: string, problem: string): TidemarkError {
  return new TidemarkError(
    'DURABILITY_TOO_WEAK',
    `The stream ${name} is not safe to use: ${problem}. Fix it with \`nats stream edit ${name}\`, or choose another prefix`,
    { current: problem },
  );
}
