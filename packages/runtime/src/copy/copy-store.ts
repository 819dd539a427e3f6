/**
 * `copyStore`: copies the data of one store to another, between any two engines, through the public contract only. Data
 * that is already the same is skipped, so an interrupted copy can simply be run again.
 */
import {
  type Capability,
  invalidArgument,
  isTidemarkError,
  type Store,
  TENANT_PARTS,
  type TenantPart,
  TidemarkError,
} from '@tidemark/core';
import { checkId, checkInteger } from '@tidemark/core/engine';
import { retry } from '../jobs/retry.ts';
import { tenantsOf } from '../listing.ts';
import { AGENT_WALKS } from './agents.ts';
import { artifactUnits, kvUnits } from './documents.ts';
import { sideBySide } from './joins.ts';
import { Mirror } from './mirror.ts';
import { type CopyReport, CopyReportBuilder } from './report.ts';
import { runUnits } from './runs.ts';
import type { CopyPoint, CopyUnit, PartWalks, Sides } from './unit.ts';

/** Options of `copyStore`. */
export interface CopyOptions {
  /** Parts to copy. Default: all parts of the source. Fails with `UNSUPPORTED` if the target lacks a part. */
  parts?: readonly TenantPart[];
  /** Tenants to copy. Default: all tenants of the source. */
  tenants?: readonly string[];
  /**
   * Removes data that an earlier copy wrote to the target and that the source no longer has. Keeps all other data of
   * the target, including data that was changed there after the copy. Default false: data that exists only in the
   * target is reported as a difference.
   */
  mirror?: boolean;
  /** Number of items copied concurrently. Default 8. */
  concurrency?: number;
  /** Called with the counts so far, about four times a second. */
  onProgress?: (report: CopyReport) => void;
  /** Stops the copy after the items in progress. The report is then not `complete`. */
  signal?: AbortSignal;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: CopyPoint) => void;
}

const WALKS: PartWalks = { runs: runUnits, kv: kvUnits, artifacts: artifactUnits, ...AGENT_WALKS };
const PROGRESS_EVERY_MS = 250;
const TRIES = 6;
const NEVER = new AbortController().signal;

/**
 * Copies everything, then compares both stores. Do not write to either store during the copy: changes are reported as
 * differences and copied by the next call.
 *
 * Sequences, times and links of runs are kept. Revisions of records, versions of memory states and creation times of
 * pauses and artifacts start from the beginning. Deleted runs, consumed pauses and erased sessions of the source are removed from the
 * target too. Other data that the source no longer has is removed only with `mirror`.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option, `UNSUPPORTED` if one of the stores lacks a part or a mirror's
 * target has no kv. Errors of single items are in the report's `problems`.
 *
 * @example
 * const [from, to] = [await open('sqlite:app.db'), await open('sqlite:copy.db')];
 * const report = await copyStore(from, to, { onProgress: (progress) => console.log(progress) });
 * if (!report.complete) console.log(report.differences, report.problems);
 */
export async function copyStore(from: Store, to: Store, options: CopyOptions = {}): Promise<CopyReport> {
  const copy = new Copy(from, to, options);
  return copy.run();
}

class Copy {
  readonly #from: Store;
  readonly #to: Store;
  readonly #parts: readonly TenantPart[];
  readonly #concurrency: number;
  readonly #options: CopyOptions;
  readonly #signal: AbortSignal;
  readonly #probe: (point: CopyPoint) => void;
  readonly #builder: CopyReportBuilder;
  #progressAt = 0;

  constructor(from: Store, to: Store, options: CopyOptions) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
    this.#parts = checkParts(from, to, options.parts);
    for (const tenantId of options.tenants ?? []) checkId(tenantId, 'tenants');
    this.#concurrency = checkInteger(options.concurrency ?? 8, 'concurrency', 1, 100);
    if (options.mirror !== undefined && typeof options.mirror !== 'boolean')
      throw invalidArgument('mirror', 'true or false', options.mirror);
    if (options.mirror && !to.info.capabilities.kv)
      throw new TidemarkError('UNSUPPORTED', 'A mirror keeps notes in the target, which has no kv', {
        field: 'mirror',
      });
    this.#signal = options.signal ?? NEVER;
    this.#probe = options.probe ?? (() => {});
    this.#builder = new CopyReportBuilder(this.#parts);
  }

  async run(): Promise<CopyReport> {
    await this.#forTenants((sides) => this.#copy(sides));
    this.#builder.report.phase = 'verifying';
    await this.#forTenants((sides) => this.#verify(sides));
    const report = this.#builder.finish(!this.#signal.aborted);
    this.#options.onProgress?.(report);
    return report;
  }

  async #copy(sides: Sides): Promise<void> {
    const mirror = new Mirror(sides, this.#parts, this.#options.mirror === true);
    await mirror.begin();
    await this.#forUnits(sides, async (unit, part) => {
      this.#probe('copying');
      this.#builder.count(part, await unit.copy());
      this.#probe('copied');
    });
    if (this.#signal.aborted) return;
    this.#probe('mirroring');
    for (const [part, count] of await mirror.finish()) this.#builder.countRemoved(part, count);
  }

  async #verify(sides: Sides): Promise<void> {
    const { tenantId } = sides;
    await this.#forUnits(sides, async (unit, part) => {
      this.#probe('verifying');
      const difference = await unit.compare();
      if (difference) this.#builder.addDifference(part, tenantId, unit.id, difference);
    });
    if (this.#signal.aborted) return;
    for (const { part, id, ...difference } of await new Mirror(sides, this.#parts, false).extras())
      this.#builder.addDifference(part, tenantId, id, difference);
  }

  async #forTenants(act: (sides: Sides) => Promise<void>): Promise<void> {
    for await (const { tenantId, isGone } of this.#tenants()) {
      if (this.#signal.aborted) return;
      const [from, to] = [this.#from.forTenant(tenantId), this.#to.forTenant(tenantId)];
      const send: Sides['send'] = (call) => retry(TRIES, call, this.#signal);
      await act({ from, to, tenantId, isGone, send, probe: this.#probe });
    }
  }

  /** Runs an action on every unit of every part, several units at a time. */
  async #forUnits(sides: Sides, act: (unit: CopyUnit, part: TenantPart) => Promise<void>): Promise<void> {
    for (const part of this.#parts) {
      if (this.#signal.aborted) return;
      await this.#forEach(WALKS[part](sides), (unit) => this.#try(unit, part, sides.tenantId, act));
    }
  }

  /** Yields the tenants of both stores, because a tenant that exists only in the target is a difference. */
  async *#tenants(): AsyncGenerator<{ tenantId: string; isGone: boolean }> {
    const { tenantId } = this.#from.info;
    const named = this.#options.tenants ?? (tenantId === undefined ? undefined : [tenantId]);
    for (const id of named ?? []) yield { tenantId: id, isGone: false };
    if (named) return;
    const lists = [idsOf(tenantsOf(this.#from)), idsOf(tenantsOf(this.#to))] as const;
    for await (const { id, items } of sideBySide<[Id, Id]>(...lists)) yield { tenantId: id, isGone: items[0] === null };
  }

  async #forEach(units: AsyncIterable<CopyUnit>, act: (unit: CopyUnit) => Promise<void>): Promise<void> {
    const queue = units[Symbol.asyncIterator]();
    let failed = false;
    const work = async () => {
      while (!failed && !this.#signal.aborted) {
        const next = await queue.next();
        if (next.done) return;
        await act(next.value);
        this.#reportProgress();
      }
    };
    const workers = Array.from({ length: this.#concurrency }, () =>
      work().catch((error: unknown) => {
        failed = true;
        throw error;
      }),
    );
    const ended = await Promise.allSettled(workers);
    await queue.return?.();
    const failure = ended.find((it) => it.status === 'rejected');
    if (failure) throw failure.reason;
  }

  /** Processes one unit. Permanent errors are added to the report, and the other units continue. */
  async #try(
    unit: CopyUnit,
    part: TenantPart,
    tenantId: string,
    act: (unit: CopyUnit, part: TenantPart) => Promise<void>,
  ): Promise<void> {
    try {
      await retry(TRIES, () => act(unit, part), this.#signal);
    } catch (error) {
      if (!isTidemarkError(error) || error.code === 'STORE_CLOSED') throw error;
      this.#builder.addProblem(part, tenantId, unit.id, error);
    }
  }

  #reportProgress(): void {
    const now = performance.now();
    if (!this.#options.onProgress || now - this.#progressAt < PROGRESS_EVERY_MS) return;
    this.#progressAt = now;
    this.#options.onProgress(this.#builder.progress());
  }
}

interface Id {
  id: string;
}

async function* idsOf(ids: AsyncIterable<string>): AsyncGenerator<Id> {
  for await (const id of ids) yield { id };
}

/** Returns the parts to copy. Throws if one of the stores lacks a part. */
function checkParts(from: Store, to: Store, named: readonly TenantPart[] | undefined): readonly TenantPart[] {
  const unknown = named?.find((part) => !TENANT_PARTS.includes(part));
  if (unknown !== undefined) throw invalidArgument('parts', `of ${TENANT_PARTS.join(', ')}`, unknown);
  const parts = named ?? TENANT_PARTS.filter((part) => from.info.capabilities[part]);
  for (const part of parts) {
    requireCapability(from, part, 'source');
    requireCapability(to, part, 'target');
  }
  return parts;
}

function requireCapability(store: Store, capability: Capability, side: string): void {
  if (store.info.capabilities[capability]) return;
  throw new TidemarkError('UNSUPPORTED', `The ${side} has no ${capability}; name the parts to copy without it`, {
    field: 'parts',
    rule: `what the ${side} has`,
  });
}
