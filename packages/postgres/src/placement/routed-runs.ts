/** The run engine of a placed store: each run is on the server of its tenant; lists and the feed are merged. */
import { TidemarkError } from '@tidemark/core';
import {
  compareKeys,
  type DamagedHead,
  type EngineCall,
  isTombstone,
  Merge,
  outcomesOf,
  type QuarantineEngine,
  type RunEngine,
  type RunHead,
  type RunKey,
  type RunQuery,
  type UpdatedRunsQuery,
} from '@tidemark/core/engine';
import type { MergedFeed } from './merged-feed.ts';
import type { Member, Routes } from './routes.ts';

type Lister<Query> = (member: Member, query: Query, onDamaged: (head: DamagedHead) => void) => Promise<RunHead[]>;

export function routedRuns(routes: Routes, feed: MergedFeed, canListByUpdate: boolean): RunEngine {
  const quarantines: QuarantineEngine = routes.first.runs.quarantines;
  const read = <T>({ tenantId }: RunKey, call: EngineCall, op: (runs: RunEngine) => Promise<T>) =>
    routes.read(tenantId, call, ({ runs }) => op(runs));
  const write = <T>({ tenantId }: RunKey, call: EngineCall, op: (runs: RunEngine) => Promise<T>) =>
    routes.write(tenantId, call, ({ runs }) => op(runs));

  /** Quarantines are on the first server, so the server of the run did not remove the entry with the run. */
  const release = async (run: RunKey, call: EngineCall): Promise<void> => {
    const { server } = await routes.placements.homeOf(run.tenantId, false);
    if (server === routes.first.ordinal) return;
    if (await quarantines.find(run, call)) await quarantines.remove(run, call);
  };

  const listed = async <Query extends RunQuery | UpdatedRunsQuery>(
    query: Query,
    call: EngineCall,
    onDamaged: ((head: DamagedHead) => void) | undefined,
    time: 'createdAt' | 'updatedAt',
    list: Lister<Query>,
  ): Promise<RunHead[]> => {
    const { tenantId, limit } = query;
    if (tenantId !== undefined)
      return routes.read(tenantId, call, (member) => list(member, query, onDamaged ?? ignore));
    const sign = query.order === 'newest' ? -1 : 1;
    const compare = (a: RunHead, b: RunHead) =>
      sign * (a[time] - b[time] || compareKeys(a.tenantId, b.tenantId) || compareKeys(a.runId, b.runId));
    const damaged = new Map<string, DamagedHead>();
    const heads = await routes.settled((members) => {
      damaged.clear();
      const merge = new Merge<RunHead>(
        {
          buckets: members.length,
          compare,
          read: (bucket, after, page) => {
            const { member, hidden } = members[bucket]!;
            const note = (head: DamagedHead) => {
              if (!hidden.has(head.run.tenantId))
                damaged.set(JSON.stringify([head.run.tenantId, head.run.runId]), head);
            };
            return visible<unknown>(hidden, page, after ?? query.after, (from, count) =>
              list(member, { ...query, limit: count, after: from ? positionOf(from as RunHead) : undefined }, note),
            );
          },
        },
        limit,
      );
      return merge.take(limit);
    });
    for (const head of damaged.values()) onDamaged?.(head);
    return heads;
  };

  const runs: RunEngine = {
    quarantines,
    append(appends, options) {
      if (options.transaction !== undefined) return Promise.reject(noTransactions());
      return outcomesOf(appends, (append) =>
        routes.write(append.run.tenantId, options, ({ runs }) => runs.append([append], options).then(onlyOutcome)),
      );
    },
    fetch: (run, afterSeq, limit, call) => read(run, call, (it) => it.fetch(run, afterSeq, limit, call)),
    now: (tenantId, call) => routes.read(tenantId, call, ({ runs }) => runs.now(tenantId, call)),
    head: (run, call) => read(run, call, (it) => it.head(run, call)),
    async tenantsOf(runId, call) {
      const found = await routes.settled((views) =>
        Promise.all(
          views.map(async ({ member, hidden }) =>
            (await member.runs.tenantsOf(runId, call)).filter((tenantId) => !hidden.has(tenantId)),
          ),
        ),
      );
      return found.flat();
    },
    list: (query, call, onDamaged) =>
      listed(query, call, onDamaged, 'createdAt', ({ runs }, some, note) => runs.list(some, call, note)),
    loadSnapshot: (run, call) => read(run, call, (it) => it.loadSnapshot(run, call)),
    saveSnapshot: (run, snapshot, call, over) => write(run, call, (it) => it.saveSnapshot(run, snapshot, call, over)),
    dropSnapshot: (run, upTo, call) => write(run, call, (it) => it.dropSnapshot(run, upTo, call)),
    async remove(run, tombstone, options) {
      const removed = await write(run, options, (it) => it.remove(run, tombstone, options));
      await release(run, options);
      return removed;
    },
    async restore(run, part, options) {
      const before = part.isLast ? await runs.head(run, options) : null;
      await write(run, options, (it) => it.restore(run, part, options));
      if (part.isLast && (before === null || isTombstone(before))) await release(run, options);
    },
    redact: (run, runSeq, redaction, call) => write(run, call, (it) => it.redact(run, runSeq, redaction, call)),
    feed: (after, limit, call, notices) => feed.read(after, limit, call, notices === true),
    async waitForEvents(run, call) {
      if (run)
        return routes
          .member((await routes.placements.homeOf(run.tenantId, false)).server)
          .runs.waitForEvents(run, call);
      const woken = new AbortController();
      const signal = call.signal ? AbortSignal.any([call.signal, woken.signal]) : woken.signal;
      try {
        await Promise.race(routes.members.map(({ runs }) => runs.waitForEvents(null, { ...call, signal })));
      } finally {
        woken.abort();
      }
    },
  };
  if (canListByUpdate)
    runs.listByUpdate = (query, call, onDamaged) =>
      listed(query, call, onDamaged, 'updatedAt', ({ runs }, some, note) => runs.listByUpdate!(some, call, note));
  return runs;
}

function onlyOutcome<T>([outcome]: readonly (T | Error)[]): T {
  if (outcome instanceof Error) throw outcome;
  return outcome!;
}

function noTransactions(): TidemarkError {
  return new TidemarkError(
    'UNSUPPORTED',
    'A store with several servers cannot join a transaction, which is on one server; open the server of the tenant for it',
    { field: 'runs.transactions', rule: 'a capability of the store' },
  );
}

function ignore(): void {}

/** Returns the position of a head in a list by either time. */
function positionOf({ createdAt, updatedAt, tenantId, runId }: RunHead) {
  return { createdAt, updatedAt, tenantId, runId };
}

/** Returns a page of heads that are not hidden; fewer than `limit` only at the end. */
async function visible<Position>(
  hidden: ReadonlySet<string>,
  limit: number,
  after: Position | undefined,
  read: (after: RunHead | Position | undefined, limit: number) => Promise<RunHead[]>,
): Promise<RunHead[]> {
  const heads: RunHead[] = [];
  for (let from: RunHead | Position | undefined = after; ; ) {
    const page: RunHead[] = await read(from, limit);
    heads.push(...page.filter(({ tenantId }) => !hidden.has(tenantId)));
    if (page.length < limit || heads.length >= limit) return heads.slice(0, limit);
    from = page.at(-1)!;
  }
}
