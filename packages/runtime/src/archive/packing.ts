/**
 * Moves runs from a store into packs. A run leaves the store only after its pack was written, listed under
 * `under-way/`, read back and verified. After a crash at any point, each run is in the store or in the archive, and the
 * next archiver finishes the listed packs. A run that was redacted or restored after packing stays in the store and is
 * packed again, because its copy is outdated.
 */
import { isTidemarkError, type Store } from '@tidemark/core';
import { inParts } from '@tidemark/core/engine';
import { retry } from '../jobs/retry.ts';
import { corrupt } from './block.ts';
import { SUFFIX } from './compression.ts';
import { type Manifest, manifestOf, readManifest, writeManifest, writeUnderWay } from './manifest.ts';
import { ALL_UNDER_WAY, locationText, newPackName, underWayName } from './names.ts';
import { type PackedRun, problemsOf, type RunRef, writePack } from './pack.ts';
import { type ArchiveReport, noteSpared } from './report.ts';
import type { ArchiveTarget } from './target.ts';

/** Points at which tests simulate a crash. */
export type ArchivePoint = 'packed' | 'under way' | 'checked' | 'leaving' | 'left' | 'listed' | 'done';

const PACK_RUNS = 256;
/**
 * The size before compression at which a pack ends. Larger packs hardly compress any better, and reading a run requires
 * reading all runs that precede it in the pack.
 */
const PACK_BYTES = 4 * 1024 * 1024;
/** The number of runs that are removed from the store concurrently, because engines batch concurrent writes. */
const AT_ONCE = 16;
const TRIES = 3;
/** How often to pack runs again after one of them was redacted or restored while being packed. */
const MAX_REPACKS = 5;
/** Removing a large run takes many small steps within one call. */
const REMOVAL_LIMIT_MS = 3_600_000;

export interface PackingParts {
  store: Store;
  target: ArchiveTarget;
  probe: (point: ArchivePoint) => void;
}

/** Runs of one tenant that were created on the same day. */
export interface PackedTogether {
  tenantId: string;
  /** RFC 3339; only the day matters. */
  createdAt: string;
  runs: RunRef[];
}

export class Packing {
  readonly #store: Store;
  readonly #target: ArchiveTarget;
  readonly #probe: (point: ArchivePoint) => void;

  constructor({ store, target, probe }: PackingParts) {
    this.#store = store;
    this.#target = target;
    this.#probe = probe;
  }

  /** Archives runs in as many packs as needed. */
  async pack(group: PackedTogether, report: ArchiveReport, signal?: AbortSignal): Promise<void> {
    const left = [...group.runs];
    for (let repacks = 0; left.length > 0 && !signal?.aborted; ) {
      const manifest = await this.#packSome(group, left, report, signal);
      if (!manifest) continue;
      const mayRepack = repacks < MAX_REPACKS;
      // A pack can be discarded as a whole only until it is listed.
      const isOutdated = mayRepack && (await this.#anyRewritten(manifest));
      if (isOutdated) await this.#target.delete(manifest.pack);
      const rewritten = isOutdated ? manifest.runs : await this.#leaveListed(manifest, report);
      if (rewritten.length === 0) continue;
      repacks++;
      if (mayRepack) left.unshift(...rewritten);
      else for (const run of rewritten) spareRewritten(report, run);
    }
  }

  /**
   * Packs some of the runs and removes them from the list. Returns the manifest once the pack is written and verified.
   */
  async #packSome(
    group: PackedTogether,
    left: RunRef[],
    report: ArchiveReport,
    signal?: AbortSignal,
  ): Promise<Manifest | null> {
    const pack = newPackName(group.tenantId, group.createdAt, SUFFIX);
    const taken = function* () {
      for (let count = 0; count < PACK_RUNS && left.length > 0; count++) yield left.shift()!;
    };
    const content = await writePack(this.#target, pack, taken(), {
      exportRun: ({ tenantId, runId }) => this.#store.runs.exportRun(runId, { tenantId }),
      onSkipped: (run, error) => noteSpared(report, { ...run, reason: error.message }),
      goOn: (plainBytes) => plainBytes < PACK_BYTES && !signal?.aborted,
    });
    this.#probe('packed');
    const manifest = manifestOf(pack, content);
    if (content.runs.length > 0) return this.#checked(manifest);
    await this.#target.delete(pack);
    return null;
  }

  async #checked(manifest: Manifest): Promise<Manifest> {
    const problems = await problemsOf(this.#target, manifest.pack, manifest);
    if (problems.length > 0) await this.#giveUp(manifest, problems);
    this.#probe('checked');
    return manifest;
  }

  /** Checks a listed pack. If another archiver has discarded the pack, removes the list and returns `null`. */
  async #checkedUnlessDiscarded(manifest: Manifest): Promise<Manifest | null> {
    const problems = await problemsOf(this.#target, manifest.pack, manifest);
    if (problems.length > 0 && (await this.#wasDiscarded(manifest))) {
      await this.#target.delete(underWayName(manifest.pack));
      return null;
    }
    if (problems.length > 0) await this.#giveUp(manifest, problems);
    this.#probe('checked');
    return manifest;
  }

  /**
   * Whether another archiver discarded the pack, which is the case when the pack has none of its runs. That archiver
   * may have been killed before it removed the list.
   */
  async #wasDiscarded(manifest: Manifest): Promise<boolean> {
    for await (const name of this.#target.list(manifest.pack)) if (name === manifest.pack) return false;
    return !(await this.#hasOnlyCopy(manifest));
  }

  async #hasOnlyCopy({ pack, runs }: Manifest): Promise<boolean> {
    for (const run of runs) {
      const { tenantId, runId } = run;
      const at = await this.#store.runs.archiveLocation(runId, { tenantId });
      if (at === locationText({ pack, ...run })) return true;
    }
    return false;
  }

  /**
   * Whether the copy of any run is outdated, in which case the pack might contain payloads that were redacted in the
   * store.
   */
  async #anyRewritten({ runs }: Manifest): Promise<boolean> {
    for (const some of inParts(runs, AT_ONCE)) {
      const outdated = await Promise.all(some.map((run) => this.#isRewritten(run)));
      if (outdated.includes(true)) return true;
    }
    return false;
  }

  async #isRewritten({ tenantId, runId, rewrites = 0 }: PackedRun): Promise<boolean> {
    try {
      const position = await retry(TRIES, () => this.#store.runs.position(runId, { tenantId }));
      return position !== null && position.rewrites !== rewrites;
    } catch (error) {
      if (isTidemarkError(error, 'RUN_ARCHIVED')) return false;
      throw error;
    }
  }

  /**
   * Lists the pack under `under-way/` and removes its runs from the store. Returns the runs that were rewritten after
   * they were packed.
   */
  async #leaveListed(manifest: Manifest, report: ArchiveReport): Promise<PackedRun[]> {
    await writeUnderWay(this.#target, manifest);
    this.#probe('under way');
    return this.#leaveAll(manifest, report);
  }

  /** Finishes packs of archivers that crashed. Other archivers may be finishing the same packs. */
  async finishUnderWay(report: ArchiveReport): Promise<void> {
    for await (const name of this.#target.list(ALL_UNDER_WAY)) {
      const manifest = await readManifest(this.#target, name);
      if (!manifest) continue;
      const checked = await this.#checkedUnlessDiscarded(manifest);
      const rewritten = checked ? await this.#leaveAll(checked, report) : [];
      for (const run of rewritten) spareRewritten(report, run);
    }
  }

  async #leaveAll(manifest: Manifest, report: ArchiveReport): Promise<PackedRun[]> {
    const runs: PackedRun[] = [];
    const rewritten: PackedRun[] = [];
    for (const some of inParts(manifest.runs, AT_ONCE)) {
      const outcomes = await Promise.all(some.map((run) => this.#leave(manifest.pack, run, report)));
      runs.push(...some.filter((_, at) => outcomes[at] === 'left'));
      rewritten.push(...some.filter((_, at) => outcomes[at] === 'rewritten'));
    }
    // No archiver can move another run into this pack, because a run never returns to earlier sequences or `rewrites`.
    if (runs.length > 0) await writeManifest(this.#target, { ...manifest, runs });
    else await this.#target.delete(manifest.pack);
    this.#probe('listed');
    await this.#target.delete(underWayName(manifest.pack));
    this.#probe('done');
    report.bytes += runs.length > 0 ? manifest.bytes : 0;
    return rewritten;
  }

  /**
   * Removes a run from the store. The outcome `left` means that the run is now only in this pack. Runs with the outcome
   * `spared` are added to the report.
   */
  async #leave(pack: string, run: PackedRun, report: ArchiveReport): Promise<'left' | 'rewritten' | 'spared'> {
    const { tenantId, runId, events: expectedSeq, rewrites: expectedRewrites = 0 } = run;
    const location = locationText({ pack, ...run });
    this.#probe('leaving');
    const options = { tenantId, expectedSeq, expectedRewrites, location, timeoutMs: REMOVAL_LIMIT_MS };
    try {
      await retry(TRIES, () => this.#store.runs.archiveRun(runId, options));
    } catch (error) {
      if (isTidemarkError(error, 'CONFLICT')) return 'rewritten';
      if (!isTidemarkError(error, 'SEQ_CONFLICT', 'RUN_ARCHIVED')) throw error;
      noteSpared(report, { tenantId, runId, reason: error.message });
      return 'spared';
    }
    this.#probe('left');
    const isThere = (await retry(TRIES, () => this.#store.runs.archiveLocation(runId, { tenantId }))) === location;
    if (isThere) report.runs++;
    if (isThere) report.events += run.events;
    else noteSpared(report, { tenantId, runId, reason: 'it was removed meanwhile' });
    return isThere ? 'left' : 'spared';
  }

  /** Discards an unreadable pack, unless a run exists only in this pack. */
  async #giveUp(manifest: Manifest, problems: readonly string[]): Promise<never> {
    if (await this.#hasOnlyCopy(manifest)) throw corrupt(problems.join('; '));
    await this.#target.delete(manifest.pack);
    await this.#target.delete(underWayName(manifest.pack));
    throw corrupt(`${problems.join('; ')}; its runs are still in the store`);
  }
}

function spareRewritten(report: ArchiveReport, { tenantId, runId }: PackedRun): void {
  noteSpared(report, { tenantId, runId, reason: 'it was redacted or restored while it was packed' });
}
