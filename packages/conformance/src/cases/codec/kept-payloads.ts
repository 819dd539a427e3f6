/** Every kind of payload that a store keeps, and the codec of the codec cases. */
import { randomBytes } from 'node:crypto';
import { type Capability, composeCodecs, compression, encryption, type JsonObject, type Store } from '@tidemark/core';
import type { Bench } from '../../kit.ts';
import { CARRIERS } from '../agents/carriers.ts';
import { runEvent } from '../runs/events.ts';

export interface KeptPayload {
  name: string;
  capability: Capability;
  save(store: Store, id: string, value: JsonObject): Promise<unknown>;
  /** Returns the value, or `undefined` when nothing is stored. */
  load(store: Store, id: string): Promise<unknown>;
}

const RUN_EVENT: KeptPayload = {
  name: 'run event',
  capability: 'runs',
  save: (store, runId, payload) =>
    store.runs.appendEvent(runEvent({ tenantId: store.info.tenantId! }, { runId, payload })),
  load: async (store, runId) => (await store.runs.fetchEvents(runId))[0]?.payload,
};

const SNAPSHOT: KeptPayload = {
  name: 'snapshot',
  capability: 'runs',
  async save(store, runId, { text }) {
    const tenant = { tenantId: store.info.tenantId! };
    const payload = { errorCode: 'E1', errorMessage: text };
    await store.runs.appendEvents([
      runEvent(tenant, { runId, eventType: 'RunStarted' }),
      runEvent(tenant, { runId, eventType: 'RunFailed', payload }),
    ]);
    await store.runs.refreshSnapshot(runId);
  },
  async load(store, runId) {
    const snapshot = await store.runs.getSnapshot(runId);
    return snapshot ? { text: snapshot.error?.message } : undefined;
  },
};

const PAUSE_REASON: KeptPayload = {
  name: 'reason of a pause',
  capability: 'pauses',
  save: (store, token, { text }) => store.agents.savePlannerState(token, { reason: text }),
  async load(store, token) {
    const reason = (await store.agents.peekPause(token))?.reason;
    return reason && { text: reason };
  },
};

const ARTIFACT: KeptPayload = {
  name: 'artifact',
  capability: 'artifacts',
  save: (store, sessionId, value) =>
    store.artifacts.putText(JSON.stringify(value), { scope: { sessionId }, source: value, ttl: null }),
  async load(store, sessionId) {
    const [ref] = (await store.artifacts.list({ sessionId })).items;
    const bytes = ref && (await store.artifacts.get(ref.id));
    return bytes ? JSON.parse(Buffer.from(bytes).toString()) : undefined;
  },
};

const AGENT_PAYLOADS = CARRIERS.map(
  ({ name, capability, save, load }): KeptPayload => ({
    name,
    capability,
    save: (store, id, value) => save(store.agents, id, value),
    load: (store, id) => load(store.agents, id),
  }),
);

/** Returns the kinds that the store supports. */
export function keptPayloads({ store }: Bench): KeptPayload[] {
  const all = [RUN_EVENT, SNAPSHOT, PAUSE_REASON, ARTIFACT, ...AGENT_PAYLOADS];
  return all.filter(({ capability }) => store.info.capabilities[capability]);
}

export const KEY_ID = 'key-of-the-case';

/** Returns compression and encryption with a new key. */
export function newCodec() {
  return composeCodecs(compression(), encryption({ keys: { [KEY_ID]: randomBytes(32) }, current: KEY_ID }));
}
