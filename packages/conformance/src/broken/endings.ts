/** Broken endings: expiry off by a millisecond, pauses settled after they expired, and lists that never end. */
import { type AgentStore, isTidemarkError, type KvStore } from '@tidemark/core';
import { encodeCursor } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

/** Ignores CLAIM_LOST, as if every claim were the current one. */
function ignoringLostClaims(method: 'confirmPause' | 'releasePause') {
  return (agents: AgentStore): Partial<AgentStore> => ({
    async [method](token: string, claimId: string) {
      try {
        await agents[method](token, claimId);
      } catch (error) {
        if (!isTidemarkError(error, 'CLAIM_LOST')) throw error;
      }
    },
  });
}

/** One millisecond more than requested. */
const oneMillisecondLonger = <T>(ms: T): T => (typeof ms === 'number' ? ((ms + 1) as T) : ms);

/** Lists tasks in pages of 100, each starting after the last createdAt of the previous page. */
function tasksByTime(agents: AgentStore): Partial<AgentStore> {
  return {
    async listTasks(sessionId, options) {
      const tasks = await agents.listTasks(sessionId, options);
      const listed: typeof tasks = [];
      for (let from = 0; from >= 0 && from < tasks.length; ) {
        const page = tasks.slice(from, from + 100);
        listed.push(...page);
        from = tasks.findIndex(({ createdAt }) => createdAt > page.at(-1)!.createdAt);
      }
      return listed;
    },
  };
}

/** Counts maxResults for each page separately. */
function maxResultsByPage(kv: KvStore): Partial<KvStore> {
  return {
    scanPage(prefix, { filter = {}, limit = 100, ...options } = {}) {
      const { maxResults = limit, ...rest } = filter;
      return kv.scanPage(prefix, { ...options, filter: rest as typeof filter, limit: Math.min(limit, maxResults) });
    },
  };
}

export const BROKEN_ENDINGS: readonly BrokenStore[] = [
  broken('released-after-use', 'releases a pause for any claim', 'agents/pauses/nothing-after-a-confirmation', {
    agents: ignoringLostClaims('releasePause'),
  }),
  broken('confirmed-after-use', 'confirms a pause for any claim', 'agents/pauses/nothing-after-a-load', {
    agents: ignoringLostClaims('confirmPause'),
  }),
  broken('confirmed-after-expiry', 'confirms a pause for any claim', 'agents/pauses/nothing-after-expiry', {
    agents: ignoringLostClaims('confirmPause'),
  }),
  broken(
    'retries-end-with-the-pause',
    'forgets a load when the pause expires',
    'agents/pauses/retried-after-expiry',
    () => {
      const ends = new Map<string, number>();
      return {
        agents: (agents, _, now) => ({
          async savePlannerState(token, payload, options) {
            await agents.savePlannerState(token, payload, options);
            ends.set(token, now() + Number(options?.ttl));
          },
          async loadPlannerState(token, options) {
            return now() >= (ends.get(token) ?? 0) ? {} : agents.loadPlannerState(token, options);
          },
        }),
      };
    },
  ),
  broken('leases-too-long', 'keeps a lease in the millisecond of its end', 'agents/pauses/leased-to-the-millisecond', {
    agents: (agents) => ({
      claimPause: (token, options) =>
        agents.claimPause(token, { ...options, lease: oneMillisecondLonger(options?.lease) }),
    }),
  }),
  broken(
    'jobs-leased-too-long',
    "keeps a job's lease in the millisecond of its end",
    'jobs/leased-to-the-millisecond',
    {
      jobs: (jobs) => ({
        claim: (which, options) => jobs.claim(which, { ...options, lease: oneMillisecondLonger(options.lease) }),
      }),
    },
  ),
  broken('delays-too-long', 'delays a job for a millisecond too long', 'jobs/leased-to-the-millisecond', {
    jobs: (jobs) => ({
      enqueue: (job, options) => jobs.enqueue({ ...job, delay: oneMillisecondLonger(job.delay) }, options),
    }),
  }),
  broken('records-too-long', 'returns a record in the millisecond of its expiry', 'kv/gone-at-its-millisecond', {
    kv: (kv) => ({
      put: (key, fields, options) => kv.put(key, fields, { ...options, ttl: oneMillisecondLonger(options?.ttl) }),
    }),
  }),
  broken('records-too-short', 'loses a record a millisecond before its expiry', 'kv/gone-at-its-millisecond', {
    kv: (kv) => ({
      put: (key, fields, options) => {
        const ttl = key === 'k' && typeof options?.ttl === 'number' ? options.ttl - 1 : options?.ttl;
        return kv.put(key, fields, { ...options, ttl });
      },
    }),
  }),
  broken('expiry-as-delete', 'reports an expiry as a delete', 'kv/watch-reports-expiry', {
    kv: (kv) => ({
      async *watch(prefix, options) {
        for await (const change of kv.watch(prefix, options))
          yield change.type === 'expire' ? { ...change, type: 'delete' as const } : change;
      },
    }),
  }),
  broken('endless-scans', 'returns a next cursor after a full last page', 'kv/full-last-pages', {
    kv: (kv) => ({
      async scanPage(prefix, options) {
        const page = await kv.scanPage(prefix, options);
        const isFull = page.items.length === (options?.limit ?? 100);
        return isFull ? { ...page, next: page.next ?? encodeCursor([page.items.at(-1)!.key, 0]) } : page;
      },
    }),
  }),
  broken('max-results-by-page', 'counts maxResults for each page separately', 'kv/max-results-over-pages', {
    kv: maxResultsByPage,
  }),
  broken('endless-job-lists', 'returns a next cursor after a full last page', 'jobs/full-last-pages', {
    jobs: (jobs) => ({
      async list(state, options) {
        const page = await jobs.list(state, options);
        return page.items.length === options?.limit ? { ...page, next: page.next ?? 'more' } : page;
      },
    }),
  }),
  broken('endless-memory-lists', 'returns a next cursor after a full last page', 'agents/lists/full-last-pages', {
    agents: (agents) => ({
      async listMemory(options) {
        const page = await agents.listMemory(options);
        const isFull = page.items.length === options?.limit;
        return isFull ? { ...page, next: page.next ?? encodeCursor(['memory', page.items.at(-1)!.key]) } : page;
      },
    }),
  }),
  broken('tasks-by-time', 'loses tasks with equal createdAt at the end of a page', 'agents/tasks/many-of-one-moment', {
    agents: tasksByTime,
  }),
  broken('clock-steps-back', 'stamps events with a clock that steps back', 'general/clock-that-steps-back', {
    runs: (runs, _, now) => ({
      async fetchEvents(runId, options) {
        const earliest = new Date(now()).toISOString();
        const events = await runs.fetchEvents(runId, options);
        return events.map((event) => (event.runSeq === 1 ? event : { ...event, persistedAt: earliest }));
      },
    }),
  }),
];
