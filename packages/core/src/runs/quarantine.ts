/**
 * Quarantines and releases runs (RUN-20). Damage is recorded durably, once per run, before any reader skips the run.
 */

import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkLimit, timeText } from '../checks/numbers.ts';
import { checkOneOf } from '../checks/text.ts';
import type { Page } from '../contracts/common.ts';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { ListQuarantinedOptions, QuarantinedRun } from '../contracts/quarantines.ts';
import type { RunReadOptions, VerifyReport } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import type { WriteCall } from '../tools/writes.ts';
import { corruptEvent } from './chain.ts';
import { fetchChecked } from './checked-page.ts';
import { damageIn, recordOf } from './prepare.ts';
import type { SnapshotReader } from './snapshots.ts';
import { verifyRun } from './verify.ts';
import { checkTenant, type RunView } from './view.ts';

const RELEASE_PAGE = 1_000;
const MAX_REASON = 500;

export class Quarantine {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #snapshots: SnapshotReader;

  constructor(context: StoreContext, engine: RunEngine, snapshots: SnapshotReader) {
    this.#context = context;
    this.#engine = engine;
    this.#snapshots = snapshots;
  }

  /** Records damage and sends an alert. Returns false and records nothing if the run has been removed. */
  async note(run: RunKey, fromSeq: number, reason: string, call: EngineCall): Promise<boolean> {
    const damage = {
      fromSeq: Math.max(1, fromSeq),
      reason: reason.slice(0, MAX_REASON),
      at: this.#context.clock(),
    };
    const { entry, isNew } = await this.#engine.quarantines.put(run, damage, call);
    // A removal that ran in the meantime did not find this entry, so remove the entry here.
    if (await isGone(this.#engine, run, call)) {
      await this.#engine.quarantines.remove(run, call);
      return false;
    }
    if (isNew) {
      const { tenantId, runId, fromSeq: from, reason: why } = entry;
      this.#context.alert({ code: 'RUN_QUARANTINED', severity: 'P2', tenantId, runId, fromSeq: from, reason: why });
    }
    return true;
  }

  /** Runs `read`. If it fails because the run is damaged, records the damage. Rethrows the error unchanged. */
  async recordingDamage<T>(run: RunKey, call: EngineCall, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const damage = damageIn(error);
      // Throw the original error even if recording fails; the next reader records the damage.
      if (damage?.runSeq !== undefined) await this.note(run, damage.runSeq, damage.reason, call).catch(() => {});
      throw error;
    }
  }

  /** Like `recordingDamage`, but converts damage to `CORRUPT_EVENT`, for callers that skip the run and continue. */
  async skippingDamaged<T>(run: RunKey, call: EngineCall, fold: () => Promise<T>): Promise<T> {
    try {
      return await this.recordingDamage(run, call, fold);
    } catch (error) {
      const damage = damageIn(error);
      throw damage ? corruptEvent(run, damage.runSeq ?? 1, damage.reason, error) : error;
    }
  }

  /** Verifies a run and records any problem. Also reports an event that the engine cannot decode. */
  async verify(run: RunKey, options: RunReadOptions | undefined): Promise<VerifyReport> {
    const report = await verifyRun(this.#context, this.#engine, this.#snapshots, run, options).catch((error) =>
      this.#damageReport(run, error, options),
    );
    const { problem } = report;
    if (problem) await this.#context.read(options, (call) => this.note(run, problem.runSeq, problem.reason, call));
    return report;
  }

  async #damageReport(run: RunKey, error: unknown, options: RunReadOptions | undefined): Promise<VerifyReport> {
    const damage = damageIn(error);
    if (!damage) throw error;
    const { runSeq = 1, reason } = damage;
    const head = await this.#context.read(options, (call) => this.#engine.head(run, call)).catch(() => null);
    const link = head === null || isTombstone(head) ? '' : digestBytes(head.link).toString('hex');
    return { ...run, ok: false, events: runSeq - 1, head: link, problem: { runSeq, reason } };
  }

  async list(view: RunView, given: ListQuarantinedOptions | undefined): Promise<Page<QuarantinedRun>> {
    const options = given ?? {};
    const state =
      options.state === undefined
        ? 'quarantined'
        : checkOneOf(options.state, 'state', ['quarantined', 'released', 'any']);
    const limit = checkLimit(options.limit, 100, 1_000);
    const query = {
      tenantId: checkTenant(view, options.tenantId) ?? undefined,
      state: state === 'any' ? undefined : state,
      after: options.cursor === undefined ? undefined : checkCursor(options.cursor),
      limit: limit + 1,
    };
    return this.#context.read(options, async (call) => {
      const found = await this.#engine.quarantines.list(query, call);
      const items = found.slice(0, limit).map(toQuarantinedRun);
      const last = items.at(-1);
      return found.length <= limit || !last ? { items } : { items, next: encodeCursor([last.tenantId, last.runId]) };
    });
  }

  /** Releases a run after checking that it is intact again. */
  async release(run: RunKey, options: RunReadOptions | undefined): Promise<QuarantinedRun> {
    const write = this.#releaseWrite(run);
    for (;;) {
      const entry = await this.#context.read(options, (call) => this.#engine.quarantines.find(run, call));
      if (!entry)
        throw new TidemarkError('NOT_FOUND', `Run ${JSON.stringify(run.runId)} is not quarantined`, {
          runId: run.runId,
        });
      if (entry.state === 'released') return toQuarantinedRun(entry);
      await this.#checkIntact(entry, options);
      const released = await this.#context.write(options, write, (call) =>
        this.#engine.quarantines.release(entry, call),
      );
      if (released) return toQuarantinedRun(released);
      // Another process found more damage, or released the run, since the entry was read.
    }
  }

  #releaseWrite({ tenantId, runId }: RunKey): WriteCall {
    return this.#context.writeOf('runs', 'releaseRun', [runId, { tenantId }]);
  }

  async #checkIntact(entry: StoredQuarantine, options: RunReadOptions | undefined): Promise<void> {
    const run = { tenantId: entry.tenantId, runId: entry.runId };
    try {
      // `verify` replaces a wrong snapshot itself, so a wrong snapshot does not block the release.
      const { problem } = await this.verify(run, options);
      if (problem) throw corruptEvent(run, problem.runSeq, problem.reason);
      await this.#checkBodies(run, entry.fromSeq, options);
    } catch (error) {
      if (isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED', 'RUN_DELETED'))
        await this.#context.write(options, this.#releaseWrite(run), (call) =>
          this.#engine.quarantines.remove(run, call),
        );
      const damage = damageIn(error);
      if (damage) {
        const fromSeq = damage.runSeq ?? entry.fromSeq;
        await this.#context.read(options, (call) => this.note(run, fromSeq, damage.reason, call));
      }
      throw error;
    }
  }

  /**
   * Decodes every event, because the chain only proves that the stored text is intact. A missing encryption key does
   * not count as damage.
   */
  async #checkBodies(run: RunKey, fromSeq: number, options: RunReadOptions | undefined): Promise<void> {
    for (let afterSeq = fromSeq - 1; ; ) {
      const after = afterSeq;
      const events = await this.#context.read(options, (call) =>
        fetchChecked(this.#engine, run, after, RELEASE_PAGE, call),
      );
      for (const event of events) {
        try {
          recordOf(this.#context.payloads, run, event);
        } catch (error) {
          const damage = damageIn(error);
          if (damage) throw corruptEvent(run, event.runSeq, damage.reason);
          if (!isTidemarkError(error, 'CODEC_FAILED')) throw error;
        }
      }
      if (events.length < RELEASE_PAGE) return;
      afterSeq = events.at(-1)!.runSeq;
    }
  }
}

/** Whether a run is unknown or removed. A run whose head cannot be decoded still exists. */
async function isGone(engine: RunEngine, run: RunKey, call: EngineCall): Promise<boolean> {
  try {
    const head = await engine.head(run, call);
    return head === null || isTombstone(head);
  } catch (error) {
    if (isTidemarkError(error, 'CORRUPT_EVENT')) return false;
    throw error;
  }
}

function toQuarantinedRun({ at, notice: _, ...entry }: StoredQuarantine): QuarantinedRun {
  return { ...entry, at: timeText(at) };
}

function checkCursor(cursor: string): RunKey {
  const isRun = (values: unknown[]) => values.length === 2 && values.every((value) => typeof value === 'string');
  const [tenantId, runId] = decodeCursor<[string, string]>(cursor, isRun);
  return { tenantId, runId };
}
