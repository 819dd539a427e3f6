/** Broken ends: what lives a millisecond too long, pauses that are settled after their end, lists that do not end. */
import { type AgentStore, isTidemarkError, type KvStore } from '@tidemark/core';
import { encodeCursor } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

/** A call that does not mind whether the claim it shows is the current one. */
function careless(method: 'confirmPause' | 'releasePause') {
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

/** A millisecond more than was asked for. */
const longer = <T>(ms: T): T => (typeof ms === 'number' ? ((ms + 1) as T) : ms);

/** Lists tasks by pages of 100 that go on after the last time of creation. */
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

/** Counts the matches of each page by itself. */
function maxResultsByPage(kv: KvStore): Partial<KvStore> {
  return {
    scanPage(prefix, { filter = {}, limit = 100, ...options } = {}) {
      const { maxResults = limit, ...rest } = filter;
      return kv.scanPage(prefix, { ...options, filter: rest as typeof filter, limit: Math.min(limit, maxResults) });
    },
  };
}

export const BROKEN_ENDINGS: readonly BrokenStore[] = [
  broken('released-after-use', 'Releases whatever it is asked to', 'agents/pauses/nothing-after-a-confirmation', {
    agents: careless('releasePause'),
  }),
  broken('confirmed-after-use', 'Confirms whatever it is asked to', 'agents/pauses/nothing-after-a-load', {
    agents: careless('confirmPause'),
  }),
  broken('confirmed-after-expiry', 'Confirms whatever it is asked to', 'agents/pauses/nothing-after-expiry', {
    agents: careless('confirmPause'),
  }),
  broken('retries-end-with-the-pause', 'Forgets a load with its pause', 'agents/pauses/retried-after-expiry', () => {
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
  }),
  broken('leases-too-long', 'A lease holds in the millisecond of its end', 'agents/pauses/leased-to-the-millisecond', {
    agents: (agents) => ({
      claimPause: (token, options) => agents.claimPause(token, { ...options, lease: longer(options?.lease) }),
    }),
  }),
  broken('jobs-leased-too-long', 'holds a job in the millisecond its lease ends', 'jobs/leased-to-the-millisecond', {
    jobs: (jobs) => ({ claim: (which, options) => jobs.claim(which, { ...options, lease: longer(options.lease) }) }),
  }),
  broken('delays-too-long', 'holds a delayed job back for a millisecond more', 'jobs/leased-to-the-millisecond', {
    jobs: (jobs) => ({ enqueue: (job, options) => jobs.enqueue({ ...job, delay: longer(job.delay) }, options) }),
  }),
  broken('records-too-long', 'has a record in the millisecond of its expiry', 'kv/gone-at-its-millisecond', {
    kv: (kv) => ({ put: (key, fields, options) => kv.put(key, fields, { ...options, ttl: longer(options?.ttl) }) }),
  }),
  broken('records-too-short', 'has no record in the last millisecond of its time', 'kv/gone-at-its-millisecond', {
    kv: (kv) => ({
      put: (key, fields, options) => {
        const ttl = key === 'k' && typeof options?.ttl === 'number' ? options.ttl - 1 : options?.ttl;
        return kv.put(key, fields, { ...options, ttl });
      },
    }),
  }),
  broken('expiry-as-delete', 'reports what has expired as deleted', 'kv/watch-reports-expiry', {
    kv: (kv) => ({
      async *watch(prefix, options) {
        for await (const change of kv.watch(prefix, options))
          yield change.type === 'expire' ? { ...change, type: 'delete' as const } : change;
      },
    }),
  }),
  broken('endless-scans', 'promises a page after a full one', 'kv/full-last-pages', {
    kv: (kv) => ({
      async scanPage(prefix, options) {
        const page = await kv.scanPage(prefix, options);
        const isFull = page.items.length === (options?.limit ?? 100);
        return isFull ? { ...page, next: page.next ?? encodeCursor([page.items.at(-1)!.key, 0]) } : page;
      },
    }),
  }),
  broken('max-results-by-page', 'counts maxResults anew for each page', 'kv/max-results-over-pages', {
    kv: maxResultsByPage,
  }),
  broken('endless-job-lists', 'promises a page after a full one', 'jobs/full-last-pages', {
    jobs: (jobs) => ({
      async list(state, options) {
        const page = await jobs.list(state, options);
        return page.items.length === options?.limit ? { ...page, next: page.next ?? 'more' } : page;
      },
    }),
  }),
  broken('endless-memory-lists', 'Promises a page after a full one', 'agents/lists/full-last-pages', {
    agents: (agents) => ({
      async listMemory(options) {
        const page = await agents.listMemory(options);
        const isFull = page.items.length === options?.limit;
        return isFull ? { ...page, next: page.next ?? encodeCursor(['memory', page.items.at(-1)!.key]) } : page;
      },
    }),
  }),
  broken('tasks-by-time', 'Loses tasks of one moment at the end of a page', 'agents/tasks/many-of-one-moment', {
    agents: tasksByTime,
  }),
  broken('clock-steps-back', 'stamps events with a clock that goes back', 'general/clock-that-steps-back', {
    runs: (runs, _, now) => ({
      async fetchEvents(runId, options) {
        const earliest = new Date(now()).toISOString();
        const events = await runs.fetchEvents(runId, options);
        return events.map((event) => (event.runSeq === 1 ? event : { ...event, persistedAt: earliest }));
      },
    }),
  }),
];
