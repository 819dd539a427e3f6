/** The run engine in memory: the keyed engine, with journal and records written in one step for inline projections. */

import type { EngineCall } from '../engine/call.ts';
import type {
  DamagedHead,
  RunAppend,
  RunHead,
  SameCommitWrites,
  SequencedEvent,
  UpdatedRunsQuery,
} from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { encodeHead, eventFromEntry, eventsByKey, headOf, nameOf } from '../keyed/run-entries.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { compareKeys } from '../kv/order.ts';
import { planAppend } from '../runs/append.ts';
import { NEWEST_CHAIN_FORMAT } from '../runs/chain.ts';
import { encodeEvent } from '../runs/event-forms.ts';
import { KeyedMutex, refuseIfOver } from '../tools/contention.ts';
import type { StoreContext } from '../tools/context.ts';
import type { MemoryJournal } from './journal.ts';
import type { MemoryRecords } from './records.ts';

export class MemoryRuns extends KeyedRuns {
  readonly #context: StoreContext;
  readonly #journal: MemoryJournal;
  readonly #records: MemoryRecords;
  readonly #mutex = new KeyedMutex();

  constructor(context: StoreContext, journal: MemoryJournal, records: MemoryRecords) {
    super(journal, records);
    this.#context = context;
    this.#journal = journal;
    this.#records = records;
  }

  /** Sorts all runs for every page. An index would have to change with every append. */
  async listByUpdate(
    query: UpdatedRunsQuery,
    call: EngineCall,
    onDamaged?: (head: DamagedHead) => void,
  ): Promise<RunHead[]> {
    const { after, limit, order, ...filter } = query;
    const all = await this.list({ ...filter, order, limit: Number.POSITIVE_INFINITY }, call, onDamaged);
    const direction = order === 'newest' ? -1 : 1;
    const compare = (a: UpdatedPosition, b: UpdatedPosition) => direction * compareUpdates(a, b);
    return all
      .filter((head) => after === undefined || compare(head, after) > 0)
      .sort(compare)
      .slice(0, limit);
  }

  override append(
    appends: readonly RunAppend[],
    call: EngineCall & { transaction?: unknown },
  ): Promise<(SequencedEvent[] | Error)[]> {
    if (!appends.some((append) => append.sameCommit)) return super.append(appends, call);
    return Promise.all(appends.map((append) => this.#appendWith(append, call).catch((error: Error) => error)));
  }

  #appendWith(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    const { tenantId, runId } = append.run;
    return this.#mutex.run(`${tenantId}\0${runId}`, call, async () => {
      for (;;) {
        const placed = await this.#attempt(append, append.sameCommit!);
        if (placed) return placed;
        refuseIfOver(call);
      }
    });
  }

  /** Returns `null` and writes nothing if another writer changed something between the reads and the commit. */
  async #attempt(append: RunAppend, sameCommit: SameCommitWrites): Promise<SequencedEvent[] | null> {
    const name = nameOf(append.run);
    // Read before the head, so that a projection's state is never ahead of it.
    const found = await this.#records.get(sameCommit.names);
    const journal = await this.#journal.head(name);
    const head = headOf(name, journal);
    if (isTombstone(head)) head.rewrites = this.#journal.rewritesOfRemoved(name);
    const keys = append.events.map(({ idempotencyKey }) => idempotencyKey);
    const stored = eventsByKey(append.run, await this.#journal.find(name, keys));
    const plan = planAppend(append, head, stored, { now: this.#context.clock(), format: NEWEST_CHAIN_FORMAT });
    if (plan.rows.length === 0) return plan.placed;
    const read = async (afterSeq: number, limit: number) =>
      (await this.#journal.read(name, afterSeq, limit)).map((entry) => eventFromEntry(append.run, entry));
    const writes = await sameCommit.writes(plan.placed, found, { rewrites: plan.head.rewrites, read });
    const known = head === null || isTombstone(head) ? 0 : head.seq;
    const entries = plan.rows.map((row) => ({ key: row.idempotencyKey, body: encodeEvent(row) }));
    const commit = { known, rewrites: plan.head.rewrites, state: encodeHead(plan.head), entries };
    // No `await` from here on, so that no other writer can interfere.
    if (!this.#records.holds(writes)) return null;
    const isDone = isTombstone(head)
      ? this.#journal.beginAt(name, { tombstone: journal.tombstone!, ...commit }, plan.head.updatedAt) !== null
      : this.#journal.commitAt(name, commit, plan.head.updatedAt).committed;
    if (!isDone) return null;
    this.#records.apply(writes);
    return plan.placed;
  }
}

type UpdatedPosition = NonNullable<UpdatedRunsQuery['after']>;

function compareUpdates(a: UpdatedPosition, b: UpdatedPosition): number {
  return a.updatedAt - b.updatedAt || compareKeys(a.tenantId, b.tenantId) || compareKeys(a.runId, b.runId);
}
