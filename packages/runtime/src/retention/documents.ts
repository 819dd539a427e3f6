/**
 * Retention of memory states, artifacts, ended jobs and KV records. Each is removed only if it has not changed since it
 * was found.
 */
import { isTidemarkError, type Job, numberOf, type Store } from '@tidemark/core';
import { itemsOf } from '../listing.ts';
import type { AgedPolicy } from './checks.ts';
import { type Candidate, decides, jsonBytes, type Keeper, viewsOf } from './keeper.ts';
import type { ArtifactPolicy, EndedJobState, JobPolicy, KvPolicy, MemoryPolicy } from './policies.ts';

const PAGE = 200;

export function memoryKeeper(
  store: Store,
  policies: readonly AgedPolicy<MemoryPolicy>[],
): Keeper<AgedPolicy<MemoryPolicy>> {
  return {
    kind: 'memory',
    policies,
    async *find(policy, now) {
      for await (const [tenantId, { agents }] of viewsOf(store, policy)) {
        const prefix = policy.prefix ?? '';
        for await (const memory of itemsOf((cursor) => agents.listMemory({ ...cursor, prefix, limit: PAGE }))) {
          const { key, version } = memory;
          if (!decides(policies, policy, tenantId, (it) => key.startsWith(it.prefix ?? ''))) continue;
          if (Date.parse(memory.updatedAt) >= now - policy.olderThanMs) continue;
          yield {
            id: key,
            events: 0,
            bytes: async () => jsonBytes(await agents.loadMemoryState(key)),
            remove: () => unlessChanged(() => agents.deleteMemoryState(key, { expectedVersion: version })),
          };
        }
      }
    },
  };
}

export function artifactKeeper(
  store: Store,
  policies: readonly AgedPolicy<ArtifactPolicy>[],
): Keeper<AgedPolicy<ArtifactPolicy>> {
  return {
    kind: 'artifacts',
    policies,
    async *find(policy, now) {
      for await (const [tenantId, { artifacts }] of viewsOf(store, policy)) {
        for await (const ref of itemsOf((cursor) => artifacts.list(policy.scope ?? {}, { ...cursor, limit: PAGE }))) {
          const agrees = ({ scope = {} }: AgedPolicy<ArtifactPolicy>) =>
            (['userId', 'sessionId', 'traceId'] as const).every(
              (part) => (scope[part] ?? null) === null || scope[part] === ref.scope[part],
            );
          if (!decides(policies, policy, tenantId, agrees)) continue;
          if (Date.parse(ref.createdAt) >= now - policy.olderThanMs) continue;
          yield {
            id: ref.id,
            events: 0,
            bytes: async () => ref.sizeBytes,
            remove: async () => ((await artifacts.delete(ref.id)) ? 'deleted' : 'spared'),
          };
        }
      }
    },
  };
}

/** A job policy with its states. */
export type CheckedJobPolicy = AgedPolicy<JobPolicy> & { states: readonly EndedJobState[] };

export function jobKeeper(store: Store, policies: readonly CheckedJobPolicy[]): Keeper<CheckedJobPolicy> {
  const covers = (policy: CheckedJobPolicy, job: Job) =>
    policy.states.includes(job.state as EndedJobState) && (policy.taskType ?? job.taskType) === job.taskType;
  return {
    kind: 'jobs',
    policies,
    async *find(policy, now) {
      for await (const [tenantId, view] of viewsOf(store, policy)) {
        for await (const job of agedJobs(view, policy, now - policy.olderThanMs)) {
          if (!decides(policies, policy, tenantId, (it) => covers(it, job))) continue;
          yield recordCandidate(view, job.key, job.revision);
        }
      }
    },
  };
}

/** Yields jobs of each state and type, least recently updated first. The first recent job therefore ends each list. */
async function* agedJobs(view: Store, policy: CheckedJobPolicy, cutoff: number): AsyncGenerator<Job> {
  for (const state of policy.states) {
    const types = policy.taskType === undefined ? await view.jobs.types(state) : [policy.taskType];
    for (const taskType of types) {
      for await (const job of itemsOf((cursor) => view.jobs.list(state, { ...cursor, taskType, limit: PAGE }))) {
        if (job.updatedAt >= cutoff) break;
        yield job;
      }
    }
  }
}

export function kvKeeper(store: Store, policies: readonly AgedPolicy<KvPolicy>[]): Keeper<AgedPolicy<KvPolicy>> {
  return {
    kind: 'kv',
    policies,
    async *find(policy, now) {
      const { prefix, field } = policy;
      const cutoff = now - policy.olderThanMs;
      const filter = { field, op: 'lt', value: cutoff } as const;
      for await (const [tenantId, view] of viewsOf(store, policy)) {
        for await (const { key, record } of itemsOf((cursor) =>
          view.kv.scanPage(prefix, { ...cursor, limit: PAGE, filter }),
        )) {
          if (!decides(policies, policy, tenantId, (it) => key.startsWith(it.prefix))) continue;
          // Text that is not an integer is compared by its bytes, so it might sort below the cutoff although it is not
          // a time.
          const time = numberOf(record.fields[field]);
          if (time !== null && time < cutoff) yield recordCandidate(view, key, record.revision);
        }
      }
    },
  };
}

/** Returns a candidate that removes a record at its revision. A swap that removes the last field removes the record. */
function recordCandidate({ kv }: Store, key: string, revision: number): Candidate {
  return {
    id: key,
    events: 0,
    bytes: async () => {
      const record = await kv.get(key);
      return Object.entries(record?.fields ?? {}).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    },
    remove: async () => {
      const record = await kv.get(key);
      if (record?.revision !== revision) return 'spared';
      const set = Object.fromEntries(Object.keys(record.fields).map((name) => [name, null]));
      return (await kv.swap(key, { expectedRevision: revision, set })).swapped ? 'deleted' : 'spared';
    },
  };
}

async function unlessChanged(remove: () => Promise<boolean>): Promise<'deleted' | 'spared'> {
  try {
    return (await remove()) ? 'deleted' : 'spared';
  } catch (error) {
    if (isTidemarkError(error, 'VERSION_CONFLICT')) return 'spared';
    throw error;
  }
}
