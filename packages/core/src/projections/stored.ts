/** Stored states: one KV record per run and version, written only over the revision that was read. */
import { encodeJson } from '../checks/json.ts';
import { PAYLOADS, Payloads } from '../codec/payloads.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { KvRecord, KvValue } from '../contracts/kv.ts';
import type { ProjectedState } from '../contracts/projections.ts';
import type { RunPosition, RunReadOptions } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Records, ScannedRecord } from '../engine/records.ts';
import type { RunKey } from '../engine/run-key.ts';
import { sha256Hex } from '../hash.ts';
import { numberOf, textOf } from '../kv/values.ts';

const PREFIX = 'tidemark.projections';
/** Longer run ids are hashed, because a key has at most 512 bytes. */
const MAX_ENCODED = 300;

/** Returns the key of the record with the active version of a projection. */
export function servingKey(name: string): string {
  return `${PREFIX}.${name}`;
}

/** Returns the key of a run's state. Keys of different runs never collide: only hashed ids start with `~`. */
export function stateKey(name: string, version: number, runId: string): string {
  const encoded = encodeURIComponent(runId).replace(/[.!~*'()]/g, percent);
  const id = encoded.length <= MAX_ENCODED ? encoded : `~${sha256Hex(runId)}`;
  return `${versionPrefix(name, version)}${id}`;
}

/** Returns the key prefix of all states of a projection, of every version. */
export function statesPrefix(name: string): string {
  return `${PREFIX}.${name}.`;
}

/** Returns the key prefix of all states of a version. */
export function versionPrefix(name: string, version: number): string {
  return `${PREFIX}.${name}.${version}.`;
}

/** Returns a string above all keys of a version and below all keys of the next: `/` follows `.` in byte order. */
export function afterVersion(name: string, version: string): string {
  return `${statesPrefix(name)}${version}/`;
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** A stored state, with the revision needed to replace it. */
export interface StoredState {
  state: unknown;
  lastEventSeq: number;
  /** The run's `rewrites`, read before the first event. The state is outdated when the run has another value. */
  rewrites: number;
  revision: number;
}

/** The tenant, codec and size limit of stored states. */
export interface StateStorage {
  tenantId: string;
  payloads: Payloads;
  /** The largest size of a state as JSON text. */
  maxBytes: number;
}

export function parseState(storage: StateStorage, key: string, record: KvRecord | null): StoredState | null {
  if (!record) return null;
  const { state, seq, rewrites } = record.fields;
  return {
    state: storage.payloads.decode(textOf(state)!, stateContext(storage, key)),
    lastEventSeq: numberOf(seq)!,
    rewrites: numberOf(rewrites) ?? 0,
    revision: record.revision,
  };
}

/** Whether a stored state includes all events up to a position of its run, and was folded since its last rewrite. */
export function isUpToDate(
  record: KvRecord | null | undefined,
  { lastEventSeq, rewrites }: Pick<RunPosition, 'lastEventSeq' | 'rewrites'>,
): boolean {
  const { seq, rewrites: known } = record?.fields ?? {};
  return (numberOf(seq) ?? 0) >= lastEventSeq && (numberOf(known) ?? 0) === rewrites;
}

type NextState = Pick<ProjectedState<unknown>, 'runId' | 'state' | 'lastEventSeq'> & { rewrites: number };

/** Returns the fields of a state's record. */
export function fieldsOf(storage: StateStorage, key: string, next: NextState): Record<string, KvValue> {
  const text = encodeJson(next.state, 'state', storage.maxBytes);
  const state = storage.payloads.encode(text, stateContext(storage, key));
  return { run: next.runId, seq: next.lastEventSeq, rewrites: next.rewrites, state };
}

/** Replaces the state that was read. Returns false, and writes nothing, when another process stored one first. */
export async function saveState(
  store: Store,
  key: string,
  next: NextState,
  over: StoredState | null,
  call: CallOptions,
): Promise<boolean> {
  const set = fieldsOf(stateStorage(store), key, next);
  return (await store.kv.swap(key, { expectedRevision: over?.revision ?? 0, set }, call)).swapped;
}

/** Removes the state that was read, unless another one was stored since. */
export async function discardState(
  store: Store,
  key: string,
  { revision }: StoredState,
  call: CallOptions,
): Promise<void> {
  const set = { run: null, seq: null, rewrites: null, state: null };
  await store.kv.swap(key, { expectedRevision: revision, set }, call);
}

/** Removes the states of a run in these records, for every projection and version. */
export async function dropStates(records: Records, { tenantId, runId }: RunKey, call: EngineCall): Promise<void> {
  const delimiter = `${PREFIX}.`;
  for (let after: string | null = null; ; ) {
    const range = { prefix: delimiter, after, limit: 1, keysOnly: true };
    const [found]: ScannedRecord[] = await records.scan('kv', tenantId, range, call);
    if (!found) return;
    const [name, version] = found.key.slice(delimiter.length).split('.');
    if (version === undefined) after = found.key;
    else {
      const key = stateKey(name!, Number(version), runId);
      await records.write({ name: { space: 'kv', tenantId, key }, mode: 'delete', set: new Map() }, call);
      after = afterVersion(name!, version);
    }
  }
}

const PLAIN = new Payloads(null);

/** Returns the state storage of a tenant's view. Wrappers expose the payload codec of the KV store they wrap. */
export function stateStorage({ kv, info }: Store): StateStorage {
  const payloads = (kv as { [PAYLOADS]?: Payloads })[PAYLOADS] ?? PLAIN;
  return { tenantId: info.tenantId!, payloads, maxBytes: info.limits.fieldBytes };
}

function stateContext({ tenantId }: StateStorage, key: string): PayloadContext {
  return { tenantId, kind: 'projection', owner: key };
}

/** Returns a view of the run's tenant, or `null` for an unknown run. */
export async function tenantView(store: Store, runId: string, options: RunReadOptions): Promise<Store | null> {
  const tenantId = options.tenantId ?? store.info.tenantId;
  if (tenantId !== undefined) return store.forTenant(tenantId);
  const position = await store.runs.position(runId, callOptions(options));
  return position && store.forTenant(position.tenantId);
}

export function callOptions({ signal, timeoutMs }: CallOptions): CallOptions {
  return { signal, timeoutMs };
}
