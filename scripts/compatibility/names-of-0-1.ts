/** Wraps a client of version 0.1 so that it has the current names, which are the only ones the kit uses. */
import type { Store } from '@tidemark/core';

type Method = (...args: unknown[]) => unknown;
type Domain = Record<string, Method>;

/** The method of version 0.1 for each current method. */
const METHODS: Record<string, Record<string, string>> = {
  runs: { archiveLocation: 'archivedAt' },
  agents: {
    claimPause: 'claimPlannerState',
    confirmPause: 'confirmPlannerState',
    releasePause: 'releasePlannerState',
    peekPause: 'peekPlannerState',
  },
  admin: { listAllTraces: 'listTraces' },
  jobs: { markAnnounced: 'announced' },
};

/** For each call, the argument whose members were renamed, and their names in version 0.1. */
const MEMBERS: Record<string, { at: number; names: Record<string, string> }> = {
  'runs.deleteRun': { at: 1, names: { expectedSeq: 'atSeq' } },
  'runs.archiveRun': { at: 1, names: { expectedSeq: 'atSeq', expectedRewrites: 'rewrites' } },
  'runs.feed': { at: 0, names: { cursor: 'after' } },
  'runs.feedPage': { at: 0, names: { cursor: 'after' } },
  'kv.swap': { at: 1, names: { expected: 'expect', expectedRevision: 'revision' } },
  'agents.saveMemoryState': { at: 2, names: { expectedVersion: 'ifVersion' } },
  'agents.deleteMemoryState': { at: 1, names: { expectedVersion: 'ifVersion' } },
};

function withOldMembers(call: string, args: unknown[]): unknown[] {
  const renamed = MEMBERS[call];
  const given = renamed && args[renamed.at];
  if (!renamed || typeof given !== 'object' || given === null) return args;
  const members = Object.entries(given).map(([name, value]) => [renamed.names[name] ?? name, value]);
  return args.with(renamed.at, Object.fromEntries(members));
}

function underNewNames(domain: string, old: Domain): Domain {
  return new Proxy(old, {
    get(target, name) {
      const method = Reflect.get(target, METHODS[domain]?.[String(name)] ?? name, target) as unknown;
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => method.apply(target, withOldMembers(`${domain}.${String(name)}`, args));
    },
  });
}

/** Wraps a store of version 0.1 and its views. */
export function withNewNames(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (name === 'forTenant') return (tenantId: string) => withNewNames(target.forTenant(tenantId));
      if (typeof value === 'function') return value.bind(target);
      const isDomain =
        typeof name === 'string' && ['runs', 'kv', 'jobs', 'agents', 'artifacts', 'admin'].includes(name);
      return isDomain ? underNewNames(name, value as Domain) : value;
    },
  });
}
