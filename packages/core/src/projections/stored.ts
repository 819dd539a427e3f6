/** States as they are kept: one KV record per run and version, written on the revision that was read. */
import { encodeJson } from '../checks/json.ts';
import { PAYLOADS, Payloads } from '../codec/payloads.ts';
import type { PayloadPlace } from '../contracts/codec.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { KvRecord, KvValue } from '../contracts/kv.ts';
import type { ProjectedState } from '../contracts/projections.ts';
import type { RunReadOptions } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
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
  return `${PREFIX}.${name}.${version}.${id}`;
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** A state as it was read, with what is needed to write the next one. */
export interface KeptState {
  state: unknown;
  lastEventSeq: number;
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
  const { state, seq } = record.fields;
  return {
    state: keeping.payloads.decode(textOf(state)!, placeOf(keeping, key)),
    lastEventSeq: numberOf(seq)!,
    revision: record.revision,
  };
}

type NextState = Pick<ProjectedState<unknown>, 'runId' | 'state' | 'lastEventSeq'>;

/** The fields of a state's record. */
export function fieldsOf(keeping: Keeping, key: string, next: NextState): Record<string, KvValue> {
  const text = encodeJson(next.state, 'state', keeping.maxBytes);
  const state = keeping.payloads.encode(text, placeOf(keeping, key));
  return { run: next.runId, seq: next.lastEventSeq, state };
}

/** Writes a state over the one that was read; gives what stands instead when another was faster. */
export async function keep(
  store: Store,
  key: string,
  next: NextState,
  over: KeptState | null,
  call: CallOptions,
): Promise<KeptState | null> {
  const keeping = keepingOf(store);
  const set = fieldsOf(keeping, key, next);
  const { swapped, record } = await store.kv.swap(key, { revision: over?.revision ?? 0, set }, call);
  return swapped ? null : keptOf(keeping, key, record);
}

const PLAIN = new Payloads(null);

/** How the view of a tenant keeps states; wrappers pass on the payloads that the KV store underneath carries. */
export function keepingOf({ kv, info }: Store): Keeping {
  const payloads = (kv as { [PAYLOADS]?: Payloads })[PAYLOADS] ?? PLAIN;
  return { tenantId: info.tenantId!, payloads, maxBytes: info.limits.fieldBytes };
}

function placeOf({ tenantId }: Keeping, key: string): PayloadPlace {
  return { tenantId, kind: 'projection', owner: key };
}

/** A view of the tenant the run belongs to; `null` for an unknown run. */
export async function tenantView(store: Store, runId: string, options: RunReadOptions): Promise<Store | null> {
  const tenantId = options.tenantId ?? store.info.tenantId;
  if (tenantId !== undefined) return store.forTenant(tenantId);
  const [first] = await store.runs.fetchEvents(runId, { ...callOf(options), limit: 1 });
  return first ? store.forTenant(first.tenantId) : null;
}

export function callOf({ signal, timeoutMs }: CallOptions): CallOptions {
  return { signal, timeoutMs };
}
