/**
 * The layout of keys, in readable names: `tidemark:{b07}:kv:default:gbe:state:tasks:email-send:job_1`. After the prefix
 * follow the bucket, which determines the Cluster slot, the kind, the tenant and the name (KV-6). Different names never
 * share a key (GEN-5).
 */
import {
  type JournalName,
  type JournalSpace,
  type RecordName,
  type RecordSpace,
  splitKey,
} from '@tidemark/core/engine';
import { NameCache } from './name-cache.ts';
import { bytesAsText, encodeText } from './protocol/encode.ts';

/** The names of kinds in keys. The specification defines some of them. */
const JOURNAL_KINDS: Record<JournalSpace, string> = {
  runs: 'run',
  events: 'events',
  updates: 'updates',
  steering: 'steering',
  plannerEvents: 'planner-events',
};

const RECORD_KINDS: Record<RecordSpace, string> = {
  kv: 'kv',
  snapshots: 'snapshot',
  bindings: 'binding',
  bindingSessions: 'binding-session',
  pauses: 'pause',
  memory: 'memory',
  tasks: 'task',
  trajectories: 'trajectory',
  sessions: 'session',
  artifacts: 'artifact',
  quarantines: 'quarantine',
  requests: 'request',
};

const NAMES_OF = Object.fromEntries(
  Object.entries(RECORD_KINDS).map(([space, kind]) => [space, `${kind}-names`]),
) as Record<RecordSpace, string>;

const SPACE_OF_JOURNAL = new Map(
  // Both the log and the head of a journal identify the journal.
  Object.entries(JOURNAL_KINDS).flatMap(([space, kind]): [string, JournalSpace][] => [
    [kind, space as JournalSpace],
    [`${kind}-head`, space as JournalSpace],
  ]),
);
const SPACE_OF_KIND = new Map(Object.entries(RECORD_KINDS).map(([space, kind]) => [kind, space as RecordSpace]));

/** Spaces whose names consist of parts (`joinKey`). */
const OF_PARTS: ReadonlySet<RecordSpace> = new Set([
  'bindings',
  'bindingSessions',
  'tasks',
  'trajectories',
  'artifacts',
]);
/** Spaces whose bucket is chosen by the last part, the id of an artifact or trace. The others use the first part. */
const BY_LAST_PART: ReadonlySet<RecordSpace> = new Set(['trajectories', 'artifacts']);

/** The maximum size of the cache. With more tenants, some keys are built again. */
const MAX_BUILT = 1_000;

/** Where a record is stored. */
export interface RecordAddress {
  bucket: number;
  key: string;
  /** The key as an argument of a command. */
  argument: string;
  /** The record's name as text whose characters are its bytes. */
  member: string;
}

/** Where a journal is stored. `restoring` is the log of restored entries. */
export interface JournalAddress {
  bucket: number;
  head: string;
  log: string;
  restoring: string;
}

export class Layout {
  readonly prefix: string;
  readonly buckets: number;
  readonly #tags: readonly string[];
  /** Cache of the keys that every write of a tenant uses: one key per bucket, by the part after the tag. */
  readonly #built = new Map<string, string[]>();

  readonly #records = new NameCache<RecordSpace, RecordAddress>((...name) => this.#recordAddress(...name));
  readonly #journals = new NameCache<JournalSpace, JournalAddress>((...name) => this.#journalAddress(...name));

  constructor(prefix: string, buckets: number) {
    this.prefix = prefix;
    this.buckets = buckets;
    this.#tags = Array.from({ length: buckets }, (_, bucket) => tagOf(prefix, bucket));
  }

  bucketOf(tenantId: string, name: string): number {
    return hash(`${tenantId}\0${name}`) % this.buckets;
  }

  /** Returns the length of the part that all keys of a bucket begin with. */
  tagLength(bucket: number): number {
    return this.#tags[bucket]!.length;
  }

  /** Returns a key that belongs to a whole bucket. */
  shared(bucket: number, name: string): string {
    const known = this.#built.get(name) ?? this.#build(name);
    return known[bucket]!;
  }

  #build(name: string): string[] {
    if (this.#built.size >= MAX_BUILT) this.#built.clear();
    const keys = this.#tags.map((tag) => tag + name);
    this.#built.set(name, keys);
    return keys;
  }

  /** Returns a key of a tenant in a bucket. */
  tenants(bucket: number, name: string, tenantId: string): string {
    return this.shared(bucket, `${name}:${escaped(tenantId)}`);
  }

  /** Returns the keys of a journal. */
  journal({ space, tenantId, name }: JournalName): JournalAddress {
    return this.#journals.get(space, tenantId, name);
  }

  #journalAddress(space: JournalSpace, tenantId: string, name: string): JournalAddress {
    const bucket = this.bucketOf(tenantId, name);
    const [tag, kind, suffix] = [this.#tags[bucket]!, JOURNAL_KINDS[space], `${escaped(tenantId)}:${escaped(name)}`];
    const [head, log] = [`${tag}${kind}-head:${suffix}`, `${tag}${kind}:${suffix}`];
    return { bucket, head, log, restoring: `${tag}${kind}-restoring:${suffix}` };
  }

  /**
   * Returns the index of all journals of a space and tenant in a bucket, including removed journals that have a
   * tombstone.
   */
  journals(bucket: number, space: JournalSpace, tenantId: string): string {
    return this.tenants(bucket, `${JOURNAL_KINDS[space]}-journals`, tenantId);
  }

  journalTenants(bucket: number, space: JournalSpace): string {
    return this.shared(bucket, `${JOURNAL_KINDS[space]}-tenants`);
  }

  /** Returns the key that `tenants.lua` derives from the index of names. */
  recordTenants(bucket: number, space: RecordSpace): string {
    return this.shared(bucket, `${RECORD_KINDS[space]}-tenants`);
  }

  bucketOfRecord(name: RecordName): number {
    return this.recordAddress(name).bucket;
  }

  record(name: RecordName): string {
    return this.recordAddress(name).key;
  }

  recordAddress({ space, tenantId, key }: RecordName): RecordAddress {
    return this.#records.get(space, tenantId, key);
  }

  /** Like `recordAddress`, for a name that is not used again. */
  addressOnce({ space, tenantId, key }: RecordName): RecordAddress {
    return this.#recordAddress(space, tenantId, key);
  }

  #recordAddress(space: RecordSpace, tenantId: string, key: string): RecordAddress {
    const bucket = this.bucketOf(tenantId, OF_PARTS.has(space) ? partOf(space, key) : key);
    const name = space === 'kv' ? withColons(key, '.') : OF_PARTS.has(space) ? withColons(key, '/') : escaped(key);
    const tag = this.#tags[bucket]!;
    const address = `${tag}${RECORD_KINDS[space]}:${escaped(tenantId)}:${name}`;
    return { bucket, key: address, argument: encodeText(address), member: bytesAsText(key) };
  }

  /** Returns the record or journal that a key belongs to, or `null` for indexes and all other keys. */
  parse(key: string): RecordName | JournalName | null {
    const [, kind = '', tenant = '', rest = ''] = OWN_KEY.exec(key.slice(this.prefix.length)) ?? [];
    const space = SPACE_OF_KIND.get(kind);
    if (space === undefined) {
      const journal = SPACE_OF_JOURNAL.get(kind);
      // The copy of a log during a rewrite has one more part.
      return journal && !rest.includes(':') ? { space: journal, tenantId: plain(tenant), name: plain(rest) } : null;
    }
    const separator = space === 'kv' ? '.' : OF_PARTS.has(space) ? '/' : ':';
    return { space, tenantId: plain(tenant), key: plain(rest.replaceAll(':', separator)) };
  }

  /**
   * Returns the key for request ids that have left their records, as `requests.lua` derives it from the index of names.
   */
  requests(bucket: number, space: RecordSpace, tenantId: string): string {
    return this.tenants(bucket, `${RECORD_KINDS[space]}-requests`, tenantId);
  }

  /** Returns the index of all records of a space and tenant in a bucket. */
  names(bucket: number, space: RecordSpace, tenantId: string): string {
    return this.tenants(bucket, NAMES_OF[space], tenantId);
  }
}

/** Returns the start of all keys of a bucket. The braces make Redis Cluster keep them in one slot. */
export function tagOf(prefix: string, bucket: number): string {
  return `${prefix}:{b${String(bucket).padStart(2, '0')}}:`;
}

/** The member of a record in the index of expiring records. */
export function expiryMember({ space, tenantId, key }: RecordName): string {
  return `${RECORD_KINDS[space]}\0${tenantId}\0${key}`;
}

export function recordOfMember(member: string): RecordName {
  const [kind, tenantId, key] = member.split('\0') as [string, string, string];
  return { space: SPACE_OF_KIND.get(kind)!, tenantId, key };
}

function partOf(space: RecordSpace, key: string): string {
  return splitKey(key).at(BY_LAST_PART.has(space) ? -1 : 0) ?? '';
}

/** After the prefix: the bucket, the kind, the tenant and the name. */
const OWN_KEY = /^:\{b\d+\}:([a-z-]+):([^:]*):(.*)$/s;

const RESERVED = /[:%]/;

function escaped(text: string): string {
  return RESERVED.test(text) ? text.replaceAll('%', '%25').replaceAll(':', '%3A') : text;
}

function plain(text: string): string {
  return text.replaceAll('%3A', ':').replaceAll('%25', '%');
}

/** Separates the parts of a name by colons, as is usual in Redis. */
function withColons(text: string, separator: string): string {
  return escaped(text).replaceAll(separator, ':');
}

/** FNV-1a over the UTF-8 bytes: the same in every process and language. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) return hashBytes(Buffer.from(text));
    value = Math.imul(value ^ unit, 0x01000193);
  }
  return value >>> 0;
}

function hashBytes(bytes: Uint8Array): number {
  let value = 0x811c9dc5;
  for (const byte of bytes) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}
