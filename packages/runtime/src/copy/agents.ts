/** Copies agent data: the histories of traces, the work of sessions, pauses and memory. */
import type { AgentStore, PauseInfo, RemoteBinding, SessionListOptions, SessionPage, Store } from '@tidemark/core';
import { sameJson } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { listed, sequenceUnit } from './sequences.ts';
import { type CopyUnit, isSameTime, type PartWalks, type Sides } from './unit.ts';

const PAGE = 500;
/** The maximum number of traces that a session lists. */
const MAX_TRACES = 10_000;

export const AGENT_WALKS: Omit<PartWalks, 'runs' | 'kv' | 'artifacts'> = {
  async *events({ from, to }) {
    for await (const traceId of withNone(tracesOf(from)))
      yield sequenceUnit({
        id: String(traceId),
        source: () => from.agents.readHistory(traceId),
        target: () => to.agents.readHistory(traceId),
        save: (events) => to.agents.saveEvents(events),
      });
  },

  async *bindings({ from, to }) {
    const save = inTurn((binding: RemoteBinding) => to.agents.saveRemoteBinding(binding));
    const sessions = new Set<string>();
    for await (const traceId of tracesOf(from)) {
      const read = (store: Store) => () => listed(async () => sorted(await store.agents.listRemoteBindings(traceId)));
      yield sequenceUnit({ id: traceId, source: read(from), target: read(to), save });
      for (const { routerSessionId } of await from.agents.listRemoteBindings(traceId))
        if (routerSessionId) sessions.add(routerSessionId);
    }
    // Copies bindings again by session, the oldest first, so that the most recent binding is the same in the target.
    for (const id of sessions) {
      const read = (store: Store) => () => listed(async () => (await store.agents.listBindings(id)).reverse());
      yield sequenceUnit({ id, source: read(from), target: read(to), save });
    }
  },

  async *plannerEvents({ from, to }) {
    for await (const traceId of tracesOf(from))
      yield sequenceUnit({
        id: traceId,
        source: () => from.agents.readPlannerEvents(traceId),
        target: () => to.agents.readPlannerEvents(traceId),
        save: inTurn((event) => to.agents.savePlannerEvent(traceId, event)),
      });
  },

  async *tasks({ from, to }) {
    for await (const sessionId of sessionsOf(from))
      yield sequenceUnit({
        id: sessionId,
        source: () => from.agents.readTasks(sessionId),
        target: () => to.agents.readTasks(sessionId),
        save: inTurn((task) => to.agents.saveTask(task)),
      });
  },

  async *updates({ from, to }) {
    const read = ({ agents }: Store, sessionId: string) => {
      return sessionItems((options) => agents.listUpdatesPage(sessionId, options));
    };
    for await (const sessionId of sessionsOf(from))
      yield sequenceUnit({
        id: sessionId,
        source: () => read(from, sessionId),
        target: () => read(to, sessionId),
        save: inTurn((update) => to.agents.saveUpdate(update)),
      });
  },

  async *steering({ from, to }) {
    const read = ({ agents }: Store, sessionId: string) => {
      return sessionItems((options) => agents.listSteeringPage(sessionId, options));
    };
    for await (const sessionId of sessionsOf(from))
      yield sequenceUnit({
        id: sessionId,
        source: () => read(from, sessionId),
        target: () => read(to, sessionId),
        save: inTurn((event) => to.agents.saveSteering(event)),
      });
  },

  async *trajectories(sides) {
    for await (const sessionId of sessionsOf(sides.from)) yield trajectoriesUnit(sides, sessionId);
  },

  async *pauses(sides) {
    for await (const pause of itemsOf((cursor) => sides.from.agents.listPauses({ ...cursor, limit: PAGE })))
      yield pause.state === 'consumed' ? consumedUnit(sides, pause) : pauseUnit(sides, pause);
  },

  async *memory({ from, to }) {
    for await (const { key } of itemsOf((cursor) => from.agents.listMemory({ ...cursor, limit: PAGE })))
      yield memoryUnit(from.agents, to.agents, key);
  },
};

/** Copies a session's trajectories, oldest first, so that the most recent one is the same in the target. */
function trajectoriesUnit({ from, to }: Sides, sessionId: string): CopyUnit {
  const visit = async (onOther: (traceId: string) => Promise<void>) => {
    let same = 0;
    for (const traceId of (await from.agents.listTraces(sessionId, MAX_TRACES)).reverse()) {
      const [ours, theirs] = await Promise.all(
        [from, to].map(({ agents }) => agents.getTrajectory(traceId, sessionId)),
      );
      if (sameJson(ours, theirs)) same++;
      else await onOther(traceId);
    }
    return same;
  };
  return {
    id: sessionId,
    async copy() {
      let copied = 0;
      const same = await visit(async (traceId) => {
        const trajectory = await from.agents.getTrajectory(traceId, sessionId);
        if (trajectory === null) return;
        await to.agents.saveTrajectory(traceId, sessionId, trajectory);
        copied++;
      });
      return { copied, same };
    },
    async compare() {
      const others: string[] = [];
      const same = await visit(async (traceId) => void others.push(traceId));
      const ours = new Set(await from.agents.listTraces(sessionId, MAX_TRACES));
      const theirs = await to.agents.listTraces(sessionId, MAX_TRACES);
      others.push(...theirs.filter((traceId) => !ours.has(traceId)));
      if (others.length > 0) return { count: others.length, reason: `trajectories differ, such as ${others[0]}` };
      if (same < MAX_TRACES) return null;
      return { count: 1, reason: `only the last ${MAX_TRACES} trajectories of a session can be listed` };
    },
  };
}

function pauseUnit({ from, to, tenantId }: Sides, pause: PauseInfo): CopyUnit {
  const { pauseId } = pause;
  const read = async () => {
    const [ours, theirs] = await Promise.all([from, to].map(({ admin }) => admin.readPause(pauseId, { tenantId })));
    const isSame =
      ours && theirs
        ? sameJson([ours.payload, ours.sessionId ?? null], [theirs.payload, theirs.sessionId ?? null]) &&
          isSameTime(Date.parse(ours.expiresAt), Date.parse(theirs.expiresAt))
        : false;
    return { ours, isSame };
  };
  return {
    id: pauseId,
    async copy() {
      const { ours, isSame } = await read();
      if (!ours || isSame) return { copied: 0, same: isSame ? 1 : 0 };
      return { copied: (await to.admin.putPause(ours, { tenantId })) ? 1 : 0, same: 0 };
    },
    async compare() {
      const { ours, isSame } = await read();
      if (isSame) return null;
      if (ours) return { count: 1, reason: 'the pause differs in the target, or was consumed there' };
      // A waiting pause may have ended in the meantime. A claimed pause may be released again.
      return pause.state === 'claimed' ? { count: 1, reason: 'the pause is claimed in the source' } : null;
    },
  };
}

/** Marks a pause as consumed in the target, so that its token cannot resume anything there either. */
function consumedUnit({ to, tenantId }: Sides, pause: PauseInfo): CopyUnit {
  const { pauseId, expiresAt, createdAt, sessionId, taskId } = pause;
  const about = { pauseId, createdAt, expiresAt, ...(sessionId && { sessionId }), ...(taskId && { taskId }) };
  const consume = () => to.admin.putPause({ ...about, state: 'consumed' }, { tenantId });
  return {
    id: pauseId,
    copy: async () => ({ copied: 0, same: (await consume()) ? 1 : 0 }),
    async compare() {
      // Putting the pause again shows whether it is consumed. An expired pause no longer exists in either store.
      if ((await consume()) || Date.parse(expiresAt) <= Date.now()) return null;
      return { count: 1, reason: 'the pause was consumed in the source, and is claimed in the target' };
    },
  };
}

function memoryUnit(from: AgentStore, to: AgentStore, key: string): CopyUnit {
  const read = async () => {
    const [ours, theirs] = await Promise.all([from, to].map((agents) => agents.loadMemoryState(key)));
    return { ours, isSame: sameJson(ours, theirs) };
  };
  return {
    id: key,
    async copy() {
      const { ours, isSame } = await read();
      if (isSame || !ours) return { copied: 0, same: isSame ? 1 : 0 };
      await to.saveMemoryState(key, ours);
      return { copied: 1, same: 0 };
    },
    async compare() {
      return (await read()).isSame ? null : { count: 1, reason: 'the memory state differs in the target' };
    },
  };
}

function tracesOf({ admin }: Store): AsyncIterable<string> {
  return itemsOf((cursor) => admin.listAllTraces({ ...cursor, limit: PAGE }));
}

/** Adds `null`, which stands for events that belong to no trace (AGT-2). */
async function* withNone(traces: AsyncIterable<string>): AsyncGenerator<string | null> {
  yield null;
  yield* traces;
}

async function* sessionsOf({ agents }: Store): AsyncGenerator<string> {
  for await (const { sessionId } of itemsOf((cursor) => agents.listSessions({ ...cursor, limit: PAGE })))
    yield sessionId;
}

function sessionItems<T>(page: (options: SessionListOptions) => Promise<SessionPage<T>>): AsyncIterable<T> {
  return itemsOf(({ cursor }) => page(cursor === undefined ? { limit: PAGE } : { sinceId: cursor, limit: PAGE }));
}

/** Saves items one after another to keep their order. */
function inTurn<T>(save: (item: T) => Promise<void>): (items: T[]) => Promise<void> {
  return async (items) => {
    for (const item of items) await save(item);
  };
}

function sorted(bindings: readonly RemoteBinding[]): RemoteBinding[] {
  const key = ({ contextId, taskId }: RemoteBinding) => JSON.stringify([contextId, taskId]);
  return bindings.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
