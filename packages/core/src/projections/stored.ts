/** States as they are kept: one KV record per run and version, written on the revision that was read. */
import { encodeJson } from '../checks/json.ts';
import { PAYLOADS, Payloads } from '../codec/payloads.ts';
import type { PayloadPlace } from '../contracts/codec.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { KvRecord } from '../contracts/kv.ts';
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

export function keptOf(store: Store, key: string, record: KvRecord | null): KeptState | null {
  if (!record) return null;
  const { state, seq } = record.fields;
  return {
    state: payloadsOf(store).decode(textOf(state)!, placeOf(store, key)),
    lastEventSeq: numberOf(seq)!,
    revision: record.revision,
  };
}

/** Writes a state over the one that was read; gives what stands instead when another was faster. */
export async function keep(
  store: Store,
  key: string,
  next: Pick<ProjectedState<unknown>, 'runId' | 'state' | 'lastEventSeq'>,
  over: KeptState | null,
  call: CallOptions,
): Promise<KeptState | null> {
  const text = encodeJson(next.state, 'state', store.info.limits.fieldBytes);
  const state = payloadsOf(store).encode(text, placeOf(store, key));
  const set = { run: next.runId, seq: next.lastEventSeq, state };
  const { swapped, record } = await store.kv.swap(key, { revision: over?.revision ?? 0, set }, call);
  return swapped ? null : keptOf(store, key, record);
}

const PLAIN = new Payloads(null);

/** What payloads pass in a store; wrappers pass on what the KV store underneath carries. */
function payloadsOf(store: Store): Payloads {
  return (store.kv as { [PAYLOADS]?: Payloads })[PAYLOADS] ?? PLAIN;
}

function placeOf(store: Store, key: string): PayloadPlace {
  return { tenantId: store.info.tenantId!, kind: 'projection', owner: key };
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
