/** States as they are kept: one KV record per run and version, written on the revision that was read. */
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
/** Longer ones are hashed: a key has room for 512 bytes. */
const MAX_ENCODED = 300;

/** The record that says which version of a projection serves. */
export function servingKey(name: string): string {
  return `${PREFIX}.${name}`;
}

/** The record of a run's state. Different runs never share one: `~` begins hashes only. */
export function stateKey(name: string, version: number, runId: string): string {
  const encoded = encodeURIComponent(runId).replace(/[.!~*'()]/g, percent);
  const id = encoded.length <= MAX_ENCODED ? encoded : `~${sha256Hex(runId)}`;
  return `${versionPrefix(name, version)}${id}`;
}

/** The prefix of the keys of all states of a version. */
export function versionPrefix(name: string, version: number): string {
  return `${PREFIX}.${name}.${version}.`;
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** A state as it was read, with what is needed to write the next one. */
export interface KeptState {
  state: unknown;
  lastEventSeq: number;
  /** The run's `rewrites`, read before the first event was. A state of another value than the run's is outdated. */
  rewrites: number;
  revision: number;
}

/** Whose states are kept, and what they pass on their way in and out. */
export interface Keeping {
  tenantId: string;
  payloads: Payloads;
  /** Of a state as JSON text. */
  maxBytes: number;
}

export function keptOf(keeping: Keeping, key: string, record: KvRecord | null): KeptState | null {
  if (!record) return null;
  const { state, seq, rewrites } = record.fields;
  return {
    state: keeping.payloads.decode(textOf(state)!, stateContext(keeping, key)),
    lastEventSeq: numberOf(seq)!,
    rewrites: numberOf(rewrites) ?? 0,
    revision: record.revision,
  };
}

/** Whether a state's record was folded from the run as it stands, and as far as that. */
export function isUpToDate(
  record: KvRecord | null | undefined,
  { lastEventSeq, rewrites }: Pick<RunPosition, 'lastEventSeq' | 'rewrites'>,
): boolean {
  const { seq, rewrites: known } = record?.fields ?? {};
  return (numberOf(seq) ?? 0) >= lastEventSeq && (numberOf(known) ?? 0) === rewrites;
}

type NextState = Pick<ProjectedState<unknown>, 'runId' | 'state' | 'lastEventSeq'> & { rewrites: number };

/** The fields of a state's record. */
export function fieldsOf(keeping: Keeping, key: string, next: NextState): Record<string, KvValue> {
  const text = encodeJson(next.state, 'state', keeping.maxBytes);
  const state = keeping.payloads.encode(text, stateContext(keeping, key));
  return { run: next.runId, seq: next.lastEventSeq, rewrites: next.rewrites, state };
}

/** Writes a state over the one that was read; false, and nothing is written, when another was faster. */
export async function keep(
  store: Store,
  key: string,
  next: NextState,
  over: KeptState | null,
  call: CallOptions,
): Promise<boolean> {
  const set = fieldsOf(keepingOf(store), key, next);
  return (await store.kv.swap(key, { expectedRevision: over?.revision ?? 0, set }, call)).swapped;
}

/** Removes the state that was read, unless another was stored since. */
export async function discard(store: Store, key: string, { revision }: KeptState, call: CallOptions): Promise<void> {
  const set = { run: null, seq: null, rewrites: null, state: null };
  await store.kv.swap(key, { expectedRevision: revision, set }, call);
}

/** Removes the states of a run, of every projection and version that keeps states in these records. */
export async function dropStates(records: Records, { tenantId, runId }: RunKey, call: EngineCall): Promise<void> {
  const delimiter = `${PREFIX}.`;
  for (let after: string | null = null; ; ) {
    const range = { prefix: delimiter, after, limit: 1 };
    const [found]: ScannedRecord[] = await records.scan('kv', tenantId, range, call);
    if (!found) return;
    const [name, version] = found.key.slice(delimiter.length).split('.');
    if (version === undefined) after = found.key;
    else {
      const key = stateKey(name!, Number(version), runId);
      await records.write({ name: { space: 'kv', tenantId, key }, mode: 'delete', set: new Map() }, call);
      // On to the next projection or version: ids are encoded in characters below this one.
      after = `${versionPrefix(name!, Number(version))}\x7f`;
    }
  }
}

const PLAIN = new Payloads(null);

/** How the view of a tenant keeps states; wrappers pass on the payloads that the KV store underneath carries. */
export function keepingOf({ kv, info }: Store): Keeping {
  const payloads = (kv as { [PAYLOADS]?: Payloads })[PAYLOADS] ?? PLAIN;
  return { tenantId: info.tenantId!, payloads, maxBytes: info.limits.fieldBytes };
}

function stateContext({ tenantId }: Keeping, key: string): PayloadContext {
  return { tenantId, kind: 'projection', owner: key };
}

/** A view of the tenant the run belongs to; `null` for an unknown run. */
export async function tenantView(store: Store, runId: string, options: RunReadOptions): Promise<Store | null> {
  const tenantId = options.tenantId ?? store.info.tenantId;
  if (tenantId !== undefined) return store.forTenant(tenantId);
  const position = await store.runs.position(runId, callOf(options));
  return position && store.forTenant(position.tenantId);
}

export function callOf({ signal, timeoutMs }: CallOptions): CallOptions {
  return { signal, timeoutMs };
}
