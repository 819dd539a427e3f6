/**
 * The system tenant, which holds the server's keys and audit log. Through the API, operators may read its runs. All
 * other calls to it are refused.
 */
import {
  CALLS,
  type MethodOf,
  type PageOptions,
  type RunEventInput,
  type RunPart,
  type Store,
  TidemarkError,
  type WriteMethod,
} from '@tidemark/core';
import { SYSTEM_TENANT } from '@tidemark/core/engine';
import { around, storeWith } from '../store-parts.ts';

export { SYSTEM_TENANT };
/** The prefix of the ids of audit runs. It is needed because calls without a tenant find a run by its id alone. */
export const AUDIT_RUNS = 'tidemark.audit/';

const RUN_READS = new Set(
  Object.entries(CALLS.runs).flatMap(([name, { kind }]) => (kind === 'read' || kind === 'iterate' ? [name] : [])),
);

type Method = (...args: unknown[]) => unknown;
type Guard = (args: unknown[]) => unknown[];

/** The guards of calls that write to runs. Each guard refuses the system tenant. */
const RUN_WRITES: Record<WriteMethod<'runs'>, Guard> = {
  appendEvent: (args) => {
    refuseTenant((args[0] as RunEventInput | null)?.tenantId);
    return args;
  },
  appendEvents: (args) => {
    for (const event of args[0] as (RunEventInput | null)[]) refuseTenant(event?.tenantId);
    return args;
  },
  restoreRun: ([parts, ...rest]) => [foreignParts(parts as AsyncIterable<RunPart>), ...rest],
  deleteRun: refuseRun,
  deleteExpired: refuseOption,
  archiveRun: refuseRun,
  redactEvent: refuseRun,
  forkRun: refuseRun,
  refreshSnapshot: refuseRun,
  markStale: refuseRun,
  releaseRun: refuseRun,
};

/** All admin calls that name a tenant. */
const ADMIN_CALLS: Record<Exclude<MethodOf<'admin'>, 'listTenants' | 'check'>, Guard> = {
  eraseTenant: (args) => {
    refuseTenant(args[0]);
    return args;
  },
  eraseSession: refuseOption,
  listAllTraces: refuseOption,
  listRemovedRuns: refuseOption,
  listArtifacts: refuseOption,
  artifactTotals: refuseOption,
  readPause: refuseOption,
  putPause: refuseOption,
};

/** The guards of artifact calls, because operators may name a tenant in the scope of an artifact. */
const ARTIFACT_CALLS: Record<string, Guard> = Object.fromEntries(
  Object.keys(CALLS.artifacts).map((name) => [name, refuseScope]),
);

/** Wraps the store that serves requests, so that the system tenant is hidden. */
export function withoutSystemTenant(store: Store): Store {
  const runs = guarded(store.runs, RUN_WRITES);
  const admin = guarded(listedWithout(store.admin), ADMIN_CALLS);
  const artifacts = guarded(store.artifacts, ARTIFACT_CALLS);
  const forTenant = (tenantId: string) =>
    tenantId === SYSTEM_TENANT ? auditView(store.forTenant(tenantId)) : store.forTenant(tenantId);
  const { kv, jobs, agents } = store;
  return storeWith(store, { runs, admin, kv, jobs, agents, artifacts }, { forTenant });
}

function auditView(store: Store): Store {
  const nothing = (domain: object) => readOnly(domain, new Set());
  const { kv, jobs, agents, artifacts, admin } = store;
  return storeWith(store, {
    runs: readOnly(store.runs, RUN_READS) as Store['runs'],
    kv: nothing(kv) as Store['kv'],
    jobs: nothing(jobs) as Store['jobs'],
    agents: nothing(agents) as Store['agents'],
    artifacts: nothing(artifacts) as Store['artifacts'],
    admin: nothing(admin) as Store['admin'],
  });
}

/** Omits the system tenant from lists of all tenants, even if the cursor was forged. */
function listedWithout(admin: Store['admin']): Store['admin'] {
  const leaveOut = <T extends { tenantId: string }, P extends { items: T[] }>(page: P): P => ({
    ...page,
    items: page.items.filter(({ tenantId }) => tenantId !== SYSTEM_TENANT),
  });
  const lists: Record<string, Method> = {
    listArtifacts: async (options) => leaveOut(await admin.listArtifacts(options as PageOptions)),
    artifactTotals: async (options) => leaveOut(await admin.artifactTotals(options as PageOptions)),
  };
  return around(admin, (name) => lists[name]);
}

/** Wraps a domain so that the named calls pass a guard first. */
function guarded<T extends object>(domain: T, guards: Record<string, Guard>): T {
  const methods = new Map(
    Object.entries(guards).map(([name, guard]) => {
      const method = Reflect.get(domain, name, domain) as Method;
      return [name, async (...args: unknown[]) => method.apply(domain, guard(args))];
    }),
  );
  return around(domain, (name) => methods.get(name));
}

/** Wraps a domain so that only the allowed calls remain. */
function readOnly(domain: object, allowed: ReadonlySet<string>): object {
  return around(domain, (name) => (allowed.has(name) ? undefined : refuse));
}

function refuseRun(args: unknown[]): unknown[] {
  const tenantId = tenantOfOptions(args);
  refuseTenant(tenantId);
  if (tenantId === undefined && String(args[0]).startsWith(AUDIT_RUNS)) refuse();
  return args;
}

/** The scope is the first argument of a list, and a member of the options of all other calls. */
function refuseScope(args: unknown[]): unknown[] {
  for (const arg of args) {
    const { tenantId, scope } = (arg ?? {}) as { tenantId?: unknown; scope?: { tenantId?: unknown } | null };
    refuseTenant(tenantId);
    refuseTenant(scope?.tenantId);
  }
  return args;
}

function refuseOption(args: unknown[]): unknown[] {
  refuseTenant(tenantOfOptions(args));
  return args;
}

function tenantOfOptions(args: unknown[]): unknown {
  return (args.at(-1) as { tenantId?: unknown } | undefined)?.tenantId;
}

async function* foreignParts(parts: AsyncIterable<RunPart>): AsyncGenerator<RunPart> {
  for await (const part of parts) {
    refuseTenant((part as Partial<RunPart> | null)?.run?.tenantId);
    yield part;
  }
}

function refuseTenant(tenantId: unknown): void {
  if (tenantId === SYSTEM_TENANT) refuse();
}

function refuse(): never {
  throw new TidemarkError('FORBIDDEN', `${SYSTEM_TENANT} is the server's own: only its runs can be read`, {
    field: 'tenantId',
    rule: `not ${SYSTEM_TENANT}`,
  });
}
