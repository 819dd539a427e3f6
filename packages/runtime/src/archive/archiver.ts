/** The archiver moves whole runs to files and back, and verifies both directions (RUN-15, RUN-17). */
import {
  ENDED_RUN_STATUSES,
  type ExportedRun,
  invalidArgument,
  type RestoreResult,
  type RunEventRecord,
  type RunFilter,
  type RunPart,
  type RunSummary,
  type Store,
  TidemarkError,
} from '@tidemark/core';
import { recordsOf } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { readManifest } from './manifest.ts';
import {
  ALL_PACKS,
  ALL_UNDER_WAY,
  isManifestName,
  type Location,
  manifestName,
  parseLocation,
  tenantOfPack,
  tenantPrefix,
} from './names.ts';
import { problemsOf, type RunRef, readPacked } from './pack.ts';
import { type ArchivePoint, type PackedTogether, Packing } from './packing.ts';
import { type ArchiveCheck, type ArchiveReport, emptyReport, noteProblems } from './report.ts';
import { searchRun } from './search.ts';
import type { ArchiveTarget } from './target.ts';

/** Options of `createArchiver`. */
export interface ArchiverOptions {
  /** The store to archive from. Its codec decodes payloads of archived runs. */
  store: Store;
  target: ArchiveTarget;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: ArchivePoint) => void;
}

/** Options of `archiver.archiveRuns`. */
export interface ArchiveRunsOptions {
  /** Stops after the runs in progress. */
  signal?: AbortSignal;
  /** Called after every pack with the counts so far. */
  onProgress?: (report: ArchiveReport) => void;
  /** Counts the runs without archiving them. */
  dryRun?: boolean;
}

/** Options of calls that name an archived run. */
export interface ArchivedRunOptions {
  /** Required only if several tenants use the same run id, or if the store does not know the run's tenant. */
  tenantId?: string;
}

/** Moves runs between a store and an archive. `createArchiver` returns one. */
export interface Archiver {
  /**
   * Archives one run, whatever its status.
   *
   * @throws `RUN_NOT_FOUND` if the run is unknown, `SEQ_CONFLICT` if it is not at `expectedSeq` or receives events
   * during the call.
   */
  archiveRun(runId: string, options?: ArchivedRunOptions & { expectedSeq?: number }): Promise<ArchiveReport>;
  /**
   * Archives the named runs, or all runs that match a filter. A filter without a status matches only runs that have
   * ended.
   *
   * @throws `RUN_NOT_FOUND` if a named run is unknown. Runs that change during the call stay in the store and are
   *   reported as `spared`.
   */
  archiveRuns(which: RunFilter | readonly RunRef[], options?: ArchiveRunsOptions): Promise<ArchiveReport>;
  /**
   * Restores an archived run into the store. The archive keeps its copy. If the store has no record of the run, the
   * newest copy in the archive is restored.
   *
   * @throws `RUN_NOT_FOUND` if the archive has no such run, `RUN_ARCHIVED` if it is in another archive,
   *   `AMBIGUOUS_RUN` if several tenants have it, `CORRUPT_EVENT` if the file is damaged.
   */
  restoreRun(runId: string, options?: ArchivedRunOptions): Promise<RestoreResult>;
  /**
   * Yields the events of an archived run without restoring it. With `life`, yields only events of that life.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED` or `CORRUPT_EVENT`, like `restoreRun`.
   */
  readRun(runId: string, options?: ArchivedRunOptions & { life?: number }): AsyncIterable<RunEventRecord>;
  /**
   * Yields an archived run in its exported form, without restoring it.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED` or `CORRUPT_EVENT`, like `restoreRun`.
   */
  exportRun(runId: string, options?: ArchivedRunOptions): AsyncIterable<RunPart>;
  /** Reads the whole archive, or one tenant's part of it, and verifies every file and every run. */
  verify(options?: { tenantId?: string; signal?: AbortSignal }): Promise<ArchiveCheck>;
  /** Deletes every file of a tenant and returns their number. Call it after erasing the tenant from the store. */
  deleteTenant(tenantId: string): Promise<number>;
}

/**
 * Creates an archiver that moves runs from a store to a target. Several archivers may run at once, in one process or in
 * several.
 *
 * @example
 * const archiver = createArchiver({ store, target: directoryTarget('archive') });
 * await archiver.archiveRuns({ updatedBefore: '2026-01-01T00:00:00Z' }, { onProgress: console.log });
 */
export function createArchiver(options: ArchiverOptions): Archiver {
  return new TargetArchiver(options);
}

/** The number of runs that are grouped by tenant and day at a time. */
const WINDOW = 1_000;
/** The time limit of the last part, which may take a while for a long run. */
const RESTORE_LIMIT_MS = 600_000;

class TargetArchiver implements Archiver {
  readonly #store: Store;
  readonly #target: ArchiveTarget;
  readonly #packing: Packing;
  #finished: Promise<void> | undefined;

  constructor({ store, target, probe = () => {} }: ArchiverOptions) {
    this.#store = store;
    this.#target = target;
    this.#packing = new Packing({ store, target, probe });
  }

  async archiveRun(runId: string, options: ArchivedRunOptions & { expectedSeq?: number } = {}): Promise<ArchiveReport> {
    await this.#finishOnce();
    const { run } = await this.#firstPart(runId, options);
    const { expectedSeq } = options;
    if (expectedSeq !== undefined && run.lastEventSeq !== expectedSeq) throw goneOn(run);
    const report = emptyReport(false);
    await this.#packing.pack({ tenantId: run.tenantId, createdAt: run.createdAt, runs: [run] }, report);
    if (report.runs === 0) throw goneOn(run, report.spared[0]?.reason);
    return report;
  }

  /** Finishes the packs that earlier archivers left in progress. Does this only once. */
  async #finishOnce(): Promise<void> {
    this.#finished ??= this.#packing.finishUnderWay(emptyReport(false)).catch((error) => {
      this.#finished = undefined;
      throw error;
    });
    await this.#finished;
  }

  async #firstPart(runId: string, { tenantId }: ArchivedRunOptions): Promise<RunPart> {
    for await (const part of this.#store.runs.exportRun(runId, { tenantId })) return part;
    throw new TidemarkError('RUN_NOT_FOUND', `There is no run ${JSON.stringify(runId)}`, { runId });
  }

  async archiveRuns(
    which: RunFilter | readonly RunRef[],
    { signal, onProgress, dryRun = false }: ArchiveRunsOptions = {},
  ): Promise<ArchiveReport> {
    const report = emptyReport(dryRun);
    if (!dryRun) await this.#packing.finishUnderWay(report);
    for await (const groups of this.#windows(which)) {
      for (const group of groups) {
        if (signal?.aborted) return report;
        if (dryRun) count(report, group);
        else await this.#packing.pack(group, report, signal);
        onProgress?.({ ...report, spared: [...report.spared] });
      }
    }
    return report;
  }

  /** Yields groups of runs by tenant and day, one window at a time. */
  async *#windows(which: RunFilter | readonly RunRef[]): AsyncGenerator<Group[]> {
    let groups = new Map<string, Group>();
    let size = 0;
    for await (const run of this.#summaries(which)) {
      const key = JSON.stringify([run.tenantId, run.createdAt.slice(0, 10)]);
      const group = groups.get(key) ?? { tenantId: run.tenantId, createdAt: run.createdAt, runs: [] };
      groups.set(key, group);
      group.runs.push(run);
      if (++size < WINDOW) continue;
      yield [...groups.values()];
      [groups, size] = [new Map(), 0];
    }
    yield [...groups.values()];
  }

  async *#summaries(which: RunFilter | readonly RunRef[]): AsyncGenerator<Summary> {
    if (!Array.isArray(which)) {
      const filter = {
        status: [...ENDED_RUN_STATUSES],
        ...(which as RunFilter),
        order: 'oldest' as const,
        limit: WINDOW,
      };
      yield* itemsOf((cursor) => this.#store.runs.listRuns({ ...filter, ...cursor }));
      return;
    }
    for (const { tenantId, runId } of which as readonly RunRef[]) {
      if (tenantId === undefined) throw invalidArgument('tenantId', 'given for each run');
      yield (await this.#firstPart(runId, { tenantId })).run;
    }
  }

  async restoreRun(runId: string, options: ArchivedRunOptions = {}): Promise<RestoreResult> {
    const located = (await this.#locate(runId, options)) ?? (await searchRun(this.#target, runId, options.tenantId));
    if (!located) throw notArchived(runId);
    const restoring = { timeoutMs: RESTORE_LIMIT_MS, keepEncoded: true };
    return this.#store.runs.restoreRun(this.#partsAt(runId, located), restoring);
  }

  async *readRun(
    runId: string,
    { life, ...options }: ArchivedRunOptions & { life?: number } = {},
  ): AsyncIterable<RunEventRecord> {
    for await (const part of this.exportRun(runId, options)) {
      if (life !== undefined && (part.run.life ?? 1) !== life) return;
      yield* recordsOf(this.#store, part);
    }
  }

  async *exportRun(runId: string, options: ArchivedRunOptions = {}): AsyncIterable<RunPart> {
    const located = await this.#locate(runId, options);
    if (!located) throw notArchived(runId);
    yield* this.#partsAt(runId, located);
  }

  #partsAt(runId: string, located: Located): AsyncGenerator<RunPart> {
    const { tenantId } = located;
    return readPacked(this.#target, located, { tenantId, runId }, () => notInThisArchive(runId));
  }

  /**
   * Returns the location in the run's tombstone, or `null` if the run is not archived. The location comes from a caller
   * of `archiveRun`, who may have named a file of another tenant. Such a file is not opened.
   */
  async #locate(runId: string, options: ArchivedRunOptions): Promise<Located | null> {
    const archive = await this.#store.runs.archiveLocation(runId, { tenantId: options.tenantId });
    if (archive === null) return null;
    const location = parseLocation(archive);
    const tenantId = location && tenantOfPack(location.pack);
    if (location === null || tenantId === null) throw notInThisArchive(runId, archive);
    if (!(await this.#isOwner(tenantId, runId, archive, options))) throw notInThisArchive(runId, archive);
    return { ...location, tenantId };
  }

  /** Whether the tombstone with this location belongs to the tenant that the location names. */
  async #isOwner(tenantId: string, runId: string, archive: string, options: ArchivedRunOptions): Promise<boolean> {
    if (options.tenantId !== undefined) return options.tenantId === tenantId;
    const { tenantId: confinedTo } = this.#store.info;
    if (confinedTo !== undefined) return confinedTo === tenantId;
    return (await this.#store.runs.archiveLocation(runId, { tenantId })) === archive;
  }

  async verify({ tenantId, signal }: { tenantId?: string; signal?: AbortSignal } = {}): Promise<ArchiveCheck> {
    const check: ArchiveCheck = { ok: true, packs: 0, runs: 0, events: 0, bytes: 0, problems: [], strays: [] };
    const files = new Set<string>();
    for await (const name of this.#target.list(tenantId === undefined ? ALL_PACKS : tenantPrefix(tenantId)))
      files.add(name);
    for (const name of files) {
      if (signal?.aborted) break;
      if (isManifestName(name)) await this.#verifyPack(name, check);
    }
    const underWay = new Set<string>();
    for await (const name of this.#target.list(ALL_UNDER_WAY))
      underWay.add((await readManifest(this.#target, name))?.pack ?? '');
    for (const name of files)
      if (!isManifestName(name) && !files.has(manifestName(name)) && !underWay.has(name)) check.strays.push(name);
    return check;
  }

  async #verifyPack(name: string, check: ArchiveCheck): Promise<void> {
    try {
      const manifest = await readManifest(this.#target, name);
      if (!manifest) return;
      check.packs++;
      check.runs += manifest.runs.length;
      check.events += manifest.runs.reduce((sum, run) => sum + run.events, 0);
      check.bytes += manifest.bytes;
      noteProblems(check, await problemsOf(this.#target, manifest.pack, manifest));
    } catch (error) {
      noteProblems(check, [`${name}: ${(error as Error).message}`]);
    }
  }

  async deleteTenant(tenantId: string): Promise<number> {
    let deleted = 0;
    for await (const name of this.#target.list(tenantPrefix(tenantId))) if (await this.#target.delete(name)) deleted++;
    return deleted;
  }
}

type Summary = Pick<RunSummary, 'tenantId' | 'runId' | 'createdAt' | 'lastEventSeq'>;

interface Group extends PackedTogether {
  runs: Summary[];
}

function count(report: ArchiveReport, group: Group): void {
  report.runs += group.runs.length;
  report.events += group.runs.reduce((sum, run) => sum + run.lastEventSeq, 0);
}

interface Located extends Location {
  /** The tenant, as the name of the pack states it. */
  tenantId: string;
}

function notArchived(runId: string): TidemarkError {
  return new TidemarkError('RUN_NOT_FOUND', `There is no run ${JSON.stringify(runId)} in the archive`, { runId });
}

function notInThisArchive(runId: string, archive?: string): TidemarkError {
  const message = `Run ${JSON.stringify(runId)} is archived, but not in this archive`;
  return new TidemarkError('RUN_ARCHIVED', message, { runId, ...(archive !== undefined && { archive }) });
}

function goneOn({ runId, lastEventSeq }: ExportedRun, reason = 'it has gone on'): TidemarkError {
  return new TidemarkError('SEQ_CONFLICT', `Run ${JSON.stringify(runId)} was not archived: ${reason}`, {
    runId,
    current: lastEventSeq,
  });
}
