/**
 * Stores pages of events and notices in Snowflake, with at most four statements each: one for events, removals,
 * redactions and deletes. Their order does not matter, because all rows have versions.
 */
import {
  type FeedItem,
  isTidemarkError,
  type NoticeItem,
  type RunEventRecord,
  type RunNotice,
  type Store,
} from '@tidemark/core';
import type { PageDelivery } from '@tidemark/runtime';
import { StatementFailed } from './errors.ts';
import { pageRow } from './schema/columns.ts';
import type { SqlApi } from './sql-api.ts';
import type { Stage } from './stage.ts';
import { mergePage, noteRemovals, purgeRemoved, redact, type Statement } from './statements.ts';
import { OLDEST_VERSION, type Versions } from './versions.ts';

export interface LoaderOptions {
  store: Store;
  api: SqlApi;
  schemaName: string;
  pageBytes: number;
  stage: Stage | null;
  versions: Versions;
  /** Called with the number of events that a statement stored, and the time of the oldest. */
  onLoaded?: (events: number, oldestMs: number) => void;
}

/** An event of a page with its life and its version. */
interface Load {
  event: RunEventRecord;
  life: number;
  version: number;
}

/** A load in the form in which it is sent. */
interface Row {
  event: RunEventRecord;
  text: string;
  bytes: number;
}

/** A row of the page that a statement for removals or redactions takes. */
type Change = Record<string, string | number>;

/** The remaining work of a page, after its notices were applied to its events. */
interface Plan {
  loads: Map<string, Load>;
  removals: Map<string, Change>;
  redactions: Map<string, Change>;
}

const PREFIX_BYTES = 2;
/** The maximum size of a file in a stage, in bytes. The file is in memory while it is written. */
const STAGED_BYTES = 64 * 1024 * 1024;

export class Loader {
  readonly #options: LoaderOptions;

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  async load(items: readonly (FeedItem | NoticeItem)[], delivery: PageDelivery): Promise<void> {
    const { schemaName } = this.#options;
    const { loads, removals, redactions } = await this.#plan(items, delivery);
    for (const rows of this.#inParts(loads.values())) await this.#merge(rows, delivery);
    if (redactions.size > 0) await this.#run(redact(schemaName, pageOf(redactions)), delivery);
    if (removals.size === 0) return;
    await this.#run(noteRemovals(schemaName, pageOf(removals)), delivery);
    await this.#run(purgeRemoved(schemaName), delivery);
  }

  /**
   * Loads an event that was given up on. Its version is lower than the version of any page, so it never replaces newer
   * rows and stays hidden if its run was removed since.
   */
  async loadAgain(event: RunEventRecord, life: number): Promise<void> {
    const { api, schemaName } = this.#options;
    const { text } = rowOf({ event, life, version: OLDEST_VERSION });
    const ms = Date.parse(event.persistedAt);
    const merged = mergePage(schemaName, `[${text}]`, { fromMs: ms, toMs: ms });
    await api.run(merged.text, merged.binds);
    // The event may have been redacted after it was read, when Snowflake had no row that the redaction could change.
    const { runSeq } = event;
    const redaction = await this.#redactionOf({ ...event, kind: 'redacted', life, runSeq });
    if (Object.keys(redaction).length === 0) return;
    const change = redactionRow({ ...event, life }, redaction, OLDEST_VERSION + 1);
    const redacted = redact(schemaName, JSON.stringify([change]));
    await api.run(redacted.text, redacted.binds);
  }

  /** Applies the notices of a page to its events, and collects what concerns earlier pages. */
  async #plan(items: readonly (FeedItem | NoticeItem)[], delivery: PageDelivery): Promise<Plan> {
    const plan: Plan = { loads: new Map(), removals: new Map(), redactions: new Map() };
    let version = this.#options.versions.next(delivery);
    for (const item of items) {
      if ('event' in item) {
        const { event, life = 1 } = item;
        plan.loads.set(keyOf({ ...event, life }), { event, life, version });
        continue;
      }
      const { notice } = item;
      version = this.#options.versions.next(delivery);
      // These notices change nothing. Analysts still need the history of an archived run. A quarantined run stays as it
      // was before the damage, and continues when it is released.
      if (notice.kind === 'deleted' || notice.kind === 'restored') remove(plan, notice, version);
      if (notice.kind === 'redacted' && notice.runSeq !== undefined) {
        const { runSeq } = notice;
        const redaction = await this.#redactionOf({ ...notice, runSeq });
        const key = keyOf({ ...notice, runSeq });
        const load = plan.loads.get(key);
        plan.redactions.set(key, redactionRow({ ...notice, runSeq }, redaction, version));
        if (load) plan.loads.set(key, { ...load, event: redactedEvent(load.event, redaction), version });
      }
    }
    return plan;
  }

  /** Splits the events of a page into parts that one statement takes. */
  *#inParts(loads: Iterable<Load>): Generator<Row[]> {
    const mostBytes = this.#options.stage ? STAGED_BYTES : this.#options.pageBytes;
    let [rows, bytes] = [[] as Row[], PREFIX_BYTES];
    for (const load of loads) {
      const row = rowOf(load);
      if (rows.length > 0 && bytes + row.bytes > mostBytes) {
        yield rows;
        [rows, bytes] = [[], PREFIX_BYTES];
      }
      rows.push(row);
      bytes += row.bytes;
    }
    if (rows.length > 0) yield rows;
  }

  /**
   * Stores events with one statement. If Snowflake refuses a value in them, halves the list until it has found the
   * event: the others are stored, and that event becomes a dead letter.
   */
  async #merge(rows: readonly Row[], delivery: PageDelivery): Promise<void> {
    const { api, schemaName, pageBytes, stage, onLoaded } = this.#options;
    const times = rows.map(({ event }) => Date.parse(event.persistedAt));
    const range = { fromMs: Math.min(...times), toMs: Math.max(...times) };
    const bytes = rows.reduce((sum, row) => sum + row.bytes, PREFIX_BYTES);
    const texts = rows.map(({ text }) => text);
    try {
      if (stage && (rows.length >= stage.fromEvents || bytes > pageBytes))
        await stage.merge(texts, range, api, delivery.signal);
      else await this.#run(mergePage(schemaName, `[${texts.join(',')}]`, range), delivery);
      onLoaded?.(rows.length, range.fromMs);
    } catch (error) {
      if (!(error instanceof StatementFailed && error.isAboutData)) throw error;
      if (rows.length === 1) return delivery.giveUp(rows[0]!.event, error);
      const half = Math.ceil(rows.length / 2);
      await this.#merge(rows.slice(0, half), delivery);
      await this.#merge(rows.slice(half), delivery);
    }
  }

  /** Returns who removed a payload, when and why, as far as the store still knows. */
  async #redactionOf({ tenantId, runId, life, runSeq }: RunNotice & { runSeq: number }): Promise<object> {
    try {
      const { runs } = this.#options.store;
      const [event] = await runs.fetchEvents(runId, { tenantId, life, afterSeq: runSeq - 1, limit: 1 });
      return event?.runSeq === runSeq ? (event.redacted ?? {}) : {};
    } catch (error) {
      if (isTidemarkError(error, 'RUN_ARCHIVED', 'RUN_DELETED', 'CORRUPT_EVENT', 'CODEC_FAILED')) return {};
      throw error;
    }
  }

  async #run({ text, binds }: Statement, { signal }: PageDelivery): Promise<void> {
    await this.#options.api.run(text, binds, signal);
  }
}

type RunLife = Pick<RunNotice, 'tenantId' | 'runId' | 'life'>;

/** Hides a run in Snowflake, and drops its events from the page so far. */
function remove(plan: Plan, { tenantId, runId, life }: RunLife, version: number): void {
  const isOfRun = (run: RunLife) => run.tenantId === tenantId && run.runId === runId && run.life === life;
  for (const [key, load] of plan.loads) if (isOfRun({ ...load.event, life: load.life })) plan.loads.delete(key);
  for (const [key, { tenant_id, run_id, life: of }] of plan.redactions)
    if (isOfRun({ tenantId: String(tenant_id), runId: String(run_id), life: Number(of) })) plan.redactions.delete(key);
  const change = { tenant_id: tenantId, run_id: runId, life, version };
  plan.removals.set(JSON.stringify([tenantId, runId, life]), change);
}

function keyOf({ tenantId, runId, life, runSeq }: RunLife & { runSeq: number }): string {
  return JSON.stringify([tenantId, runId, life, runSeq]);
}

function redactedEvent({ payload: _, ...event }: RunEventRecord, redacted: object): RunEventRecord {
  return { ...event, redacted } as RunEventRecord;
}

function redactionRow(run: RunLife & { runSeq: number }, redaction: object, version: number): Change {
  const { tenantId, runId, life, runSeq } = run;
  return { tenant_id: tenantId, run_id: runId, life, run_seq: runSeq, redacted: JSON.stringify(redaction), version };
}

function rowOf({ event, life, version }: Load): Row {
  const text = JSON.stringify({ ...pageRow(event, life), version });
  return { event, text, bytes: Buffer.byteLength(text) + 1 };
}

function pageOf(changes: Map<string, Change>): string {
  return JSON.stringify([...changes.values()]);
}
