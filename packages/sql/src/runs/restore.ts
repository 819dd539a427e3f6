/**
 * Restores a run into its tables, one transaction per part. The run is hidden until the last part, which moves its
 * events to the end of the feed.
 */
import {
  encodeNotice,
  isTombstone,
  planRestore,
  type RestoredPart,
  type RunHead,
  type RunKey,
  type RunTombstone,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import type { SqlTransaction } from '../database.ts';
import { removeQuarantine } from '../quarantines.ts';
import { integerOf, type SqlInteger } from '../values.ts';
import type { SqlRunTransaction } from './database.ts';
import { tombstoneText } from './removal.ts';
import { HEAD_COLUMNS, valuesOfHead } from './rows.ts';
import { removeSnapshot } from './snapshots.ts';

/**
 * `leftovers`: events of the previously removed run must be removed first. `raced`: another process has created the run
 * since it was read. In both cases nothing was written.
 */
type RestoreOutcome = 'written' | 'there' | 'leftovers' | 'raced';

/** How an engine writes events, and which columns its feed adds to the head of a run `r`. */
export interface RestoreDialect<Tx extends SqlRunTransaction> {
  /** Columns of a head that only this engine has, and their initial values. Each starts with a comma. */
  headColumns: string;
  headValues: string;
  /** Assignments for rewriting a head, and for showing it at the end. Each starts with a comma. */
  headMoves: string;
  headShows: string;
  addEvents(tx: Tx, run: RunKey, events: readonly StoredRunEvent[]): Promise<void>;
  /**
   * Stores the text of a notice at the end of the feed, and before all later events of the run. The caller has locked
   * the head.
   */
  addNotice(tx: Tx, run: RunKey, notice: string): Promise<void>;
  /** Moves events up to this sequence after everything that feed readers may already have read. */
  moveToFeedEnd(tx: Tx, run: RunKey, upToSeq: number): Promise<void>;
}

const SELECT_LAST_SEQ = 'SELECT coalesce(max(run_seq), 0) AS seq FROM @run_events WHERE run_id = ? AND tenant_id = ?';

const STATE_COLUMNS = HEAD_COLUMNS.slice(2).filter((column) => column !== 'rewrites' && column !== 'removed');

export class SqlRestore<Tx extends SqlRunTransaction> {
  readonly #dialect: RestoreDialect<Tx>;
  readonly #newHead: string;
  readonly #changeHead: string;
  readonly #showHead: string;

  constructor(dialect: RestoreDialect<Tx>) {
    const { headColumns, headValues, headMoves, headShows } = dialect;
    this.#dialect = dialect;
    this.#newHead = `
      INSERT INTO @runs (${HEAD_COLUMNS.join(', ')}${headColumns})
      VALUES (${HEAD_COLUMNS.map(() => '?').join(', ')}${headValues})
      ON CONFLICT (run_id, tenant_id) DO NOTHING`;
    // `rewrites` never falls below the value of the run that was stored here before.
    this.#changeHead = `
      UPDATE @runs AS r SET ${STATE_COLUMNS.map((column) => `${column} = ?`).join(', ')},
        rewrites = CASE WHEN r.rewrites > ? THEN r.rewrites ELSE ? END, removed = ?${headMoves}
      WHERE tenant_id = ? AND run_id = ?`;
    this.#showHead = `
      UPDATE @runs AS r SET removed = NULL, rewrites = rewrites + 1${headShows} WHERE run_id = ? AND tenant_id = ?`;
  }

  /** Writes one part inside an open transaction. The caller has locked the head. */
  async write(
    tx: Tx,
    run: RunKey,
    part: RestoredPart,
    head: RunHead | RunTombstone | null,
    options: { now: number; overDeleted?: boolean },
  ): Promise<RestoreOutcome> {
    const key = [run.runId, run.tenantId];
    const [last] = await tx.all<{ seq: SqlInteger }>(SELECT_LAST_SEQ, key);
    const stored = integerOf(last!.seq);
    const plan = planRestore(run, part, { head, restored: stored }, options);
    if (plan === null) return 'there';
    const isBegun = isTombstone(head) && head.kind === 'restoring';
    if (!isBegun && stored > 0) return 'leftovers';
    if (!(await this.#hideHead(tx, head, part.head, plan.tombstone))) return 'raced';
    const notice = encodeNotice({ kind: 'restored', life: part.head.life });
    if (part.isLast) await this.#dialect.addNotice(tx, run, notice);
    if (part.isLast && isBegun) await this.#dialect.moveToFeedEnd(tx, run, stored);
    if (plan.events.length > 0) await this.#dialect.addEvents(tx, run, plan.events);
    if (!part.isLast) return 'written';
    // A snapshot stored while the run was removed may belong to another history.
    await removeSnapshot(tx, run);
    await tx.run(this.#showHead, key);
    await removeQuarantine(tx, run);
    return 'written';
  }

  /**
   * Writes the new head, hidden by the tombstone. Returns false when another process has created the run since it was
   * read.
   */
  async #hideHead(
    tx: SqlTransaction,
    before: RunHead | RunTombstone | null,
    head: RunHead,
    tombstone: RunTombstone,
  ): Promise<boolean> {
    const hidden = tombstoneText(tombstone);
    const [tenantId, runId, ...values] = valuesOfHead(head);
    const state = values.slice(0, STATE_COLUMNS.length);
    const written =
      before === null
        ? await tx.run(this.#newHead, [tenantId!, runId!, ...state, head.rewrites, hidden])
        : await tx.run(this.#changeHead, [...state, head.rewrites, head.rewrites, hidden, tenantId!, runId!]);
    return written === 1;
  }
}
