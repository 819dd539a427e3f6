/** Writes checkpoints of a store to a file or a run, and compares a store with them (RUN-23). */
import { createPublicKey, type KeyObject } from 'node:crypto';
import {
  type CallOptions,
  invalidArgument,
  isTidemarkError,
  type RunSummary,
  type Store,
  TidemarkError,
} from '@tidemark/core';
import { itemsOf, tenantsOf } from '../listing.ts';
import { CheckpointFile } from './file.ts';
import {
  CHECKPOINT_FORMAT,
  type Checkpoint,
  type CheckpointKey,
  hashOf,
  privateKeyOf,
  publicKeyOf,
  type RunPoint,
  rawKey,
  signed,
} from './format.ts';
import { type CheckpointTarget, pointKey } from './log.ts';
import { type CheckpointRun, CheckpointsInRun } from './run.ts';

const NO_LINK = '00'.repeat(32);
const PAGE = 1_000;

/** Where checkpoints are kept: a file or a run. */
export interface CheckpointsAt {
  /** The file of checkpoints. Keep it in a place where clients that can write to the store cannot change it. */
  file?: string;
  /** The run of checkpoints, instead of a file. */
  run?: CheckpointRun;
}

/** Options of `createCheckpointer`. */
export interface CheckpointerOptions extends CheckpointsAt {
  store: Store;
  /** The Ed25519 private key that signs checkpoints, as PEM text or a `KeyObject`. */
  key: CheckpointKey;
}

/** Options of `verifyCheckpoints`. */
export interface VerifyCheckpointsOptions extends CheckpointsAt {
  store: Store;
  /** The Ed25519 public key of the signer, as PEM text or a `KeyObject`. Do not take it from the checkpoints. */
  publicKey: CheckpointKey;
}

/** A written checkpoint. */
export interface CheckpointReport extends Checkpoint {
  /** The number of runs that have changed since the previous checkpoint. */
  changed: number;
  /** Runs that could not be read. The checkpoint keeps their previous point. */
  damaged: { tenantId: string; runId: string; reason: string }[];
}

/** Signs the state of all runs. `createCheckpointer` returns one. */
export interface Checkpointer {
  /**
   * Reads the runs that have changed, and appends a signed root over all runs.
   *
   * @throws `CORRUPT_VALUE` if the checkpoints are damaged or signed by another key, `CONFLICT` if another program wrote a
   * checkpoint at the same time.
   */
  checkpoint(options?: CallOptions): Promise<CheckpointReport>;
}

/** A run that does not match the checkpoints. */
export interface CheckpointProblem {
  tenantId: string;
  runId: string;
  /**
   * `missing`: neither the run nor a tombstone exists. `cut`: the last events of the run are missing. `replaced`: the
   * run has a different history. `time`: the time of an event was changed. `damaged`: the chain of the run is not
   * valid.
   */
  kind: 'missing' | 'cut' | 'replaced' | 'time' | 'damaged';
  /** The sequence of the last event at the checkpoint. */
  runSeq: number;
  reason: string;
}

/** The result of comparing a store with checkpoints. */
export interface CheckpointCheck {
  ok: boolean;
  /** The last checkpoint. */
  last: Checkpoint;
  /** The number of runs compared. */
  runs: number;
  /** The number of compared runs that have a tombstone because they were deleted or archived. */
  removed: number;
  problems: CheckpointProblem[];
}

/**
 * Creates a checkpointer. A checkpoint covers the last sequence, link and time of every run and every tombstone.
 *
 * @example
 * const { privateKey } = generateKeyPairSync('ed25519');
 * const checkpointer = createCheckpointer({ store, file: 'checkpoints.jsonl', key: privateKey });
 * await checkpointer.checkpoint();
 */
export function createCheckpointer({ store, key, ...at }: CheckpointerOptions): Checkpointer {
  const privateKey = privateKeyOf(key);
  const publicKey = createPublicKey(privateKey);
  const target = checkpointTargetOf(at);
  return { checkpoint: (options) => writeCheckpoint(store, target, privateKey, publicKey, options) };
}

export function checkpointTargetOf({ file, run }: CheckpointsAt): CheckpointTarget {
  if ((file === undefined) === (run === undefined))
    throw invalidArgument('file', 'given, or `run`, and not both', file);
  return run === undefined ? new CheckpointFile(file!) : new CheckpointsInRun(run);
}

async function writeCheckpoint(
  store: Store,
  target: CheckpointTarget,
  privateKey: KeyObject,
  publicKey: KeyObject,
  options: CallOptions | undefined,
): Promise<CheckpointReport> {
  const log = await target.read(publicKey);
  const next = new Map(log.current);
  const damaged: CheckpointReport['damaged'] = [];
  for await (const tenantId of tenantsOf(store)) {
    const list = (cursor: { cursor?: string }) =>
      store.runs.listRuns({ ...options, ...cursor, tenantId, owner: 'any', order: 'oldest', limit: PAGE });
    for await (const run of itemsOf(list)) {
      if (isSame(log.current.get(pointKey(run)), run)) continue;
      const point = await pointOf(store, run, options).catch((error) => {
        if (!isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
        damaged.push({ tenantId, runId: run.runId, reason: error.message });
        return null;
      });
      if (point) next.set(pointKey(run), point);
    }
    for await (const run of removedRuns(store, tenantId, options)) {
      const known = next.get(pointKey(run));
      if (known?.removed === run.kind && known.at === run.at && known.life === (run.life ?? 1)) continue;
      const { runId, at, kind: removed, life = 1 } = run;
      const { lastEventSeq = 0, head = NO_LINK } = known?.life === life ? known : {};
      next.set(pointKey(run), { tenantId, runId, life, lastEventSeq, head, at, removed });
    }
  }
  const changed = [...next].filter(([id, point]) => log.current.get(id) !== point).map(([, point]) => point);
  const checkpoint = signed(
    {
      format: CHECKPOINT_FORMAT,
      number: (log.last?.number ?? 0) + 1,
      at: new Date().toISOString(),
      ...log.covering(changed),
      previous: log.last && hashOf(log.last),
      key: rawKey(publicKey),
    },
    privateKey,
  );
  await target.append(checkpoint, changed, publicKey);
  return { ...checkpoint, changed: changed.length, damaged };
}

function isSame(known: RunPoint | undefined, { lastEventSeq, updatedAt, life = 1 }: RunSummary): boolean {
  if (known === undefined || known.removed || known.life !== life) return false;
  return known.lastEventSeq === lastEventSeq && known.at === updatedAt;
}

function removedRuns(store: Store, tenantId: string, options: CallOptions | undefined) {
  return itemsOf((cursor) => store.admin.listRemovedRuns({ ...options, ...cursor, tenantId, limit: PAGE }));
}

/**
 * Reads a run up to its head. Returns `null` if the run has been removed, in which case its tombstone is listed later.
 */
async function pointOf(
  store: Store,
  { tenantId, runId }: RunSummary,
  options: CallOptions | undefined,
): Promise<RunPoint | null> {
  let point: RunPoint | null = null;
  try {
    for await (const { run, events } of store.runs.exportRun(runId, { ...options, tenantId })) {
      const { runSeq: lastEventSeq, link: head, persistedAt: at } = events.at(-1)!;
      point = { tenantId, runId, life: run.life ?? 1, lastEventSeq, head, at };
    }
    return point;
  } catch (error) {
    if (isTidemarkError(error, 'RUN_NOT_FOUND') || isTidemarkError(error, 'RUN_ARCHIVED')) return null;
    throw error;
  }
}

/**
 * Compares every run with all checkpoints of a file or a run: the run must continue each recorded history, or have a
 * tombstone. Reads the whole log of every run.
 *
 * @throws `CORRUPT_VALUE` if the checkpoints are damaged or signed by another key, `NOT_FOUND` if there are none.
 * @example
 * const { privateKey, publicKey } = generateKeyPairSync('ed25519');
 * await createCheckpointer({ store, file: 'checkpoints.jsonl', key: privateKey }).checkpoint();
 * const { ok } = await verifyCheckpoints({ store, file: 'checkpoints.jsonl', publicKey });
 * console.log(ok); // true
 */
export async function verifyCheckpoints(
  { store, publicKey, ...at }: VerifyCheckpointsOptions,
  options?: CallOptions,
): Promise<CheckpointCheck> {
  const target = checkpointTargetOf(at);
  const { last, points } = await target.read(publicKeyOf(publicKey));
  if (last === null) throw new TidemarkError('NOT_FOUND', `${target.name} has no checkpoint to compare with`);
  const check: CheckpointCheck = { ok: true, last, runs: 0, removed: 0, problems: [] };
  const unknown: RunPoint[] = [];
  for (const recorded of points.values()) {
    if (store.info.tenantId !== undefined && recorded[0]!.tenantId !== store.info.tenantId) continue;
    check.runs++;
    const found = await compareRun(store, recorded, options);
    if (found === 'archived') check.removed++;
    else if (found === 'unknown') unknown.push(recorded.at(-1)!);
    else if (found) check.problems.push(found);
  }
  // Tombstones are listed after the runs have been read, so that a run deleted in between already has its tombstone.
  for (const tenantId of new Set(unknown.map((point) => point.tenantId))) {
    const removed = new Map<string, number>();
    await leaveTombstones(store, tenantId, options);
    for await (const run of removedRuns(store, tenantId, options)) removed.set(pointKey(run), run.life ?? 1);
    for (const point of unknown.filter((it) => it.tenantId === tenantId)) {
      if ((removed.get(pointKey(point)) ?? 0) >= point.life) check.removed++;
      else check.problems.push(problemOf(point, 'missing', 'neither the run nor a tombstone exists'));
    }
  }
  check.ok = check.problems.length === 0;
  return check;
}

/**
 * Deletes expired runs, because a run that has expired has no tombstone before it is deleted. A caller that may not
 * delete runs leaves that to others.
 */
async function leaveTombstones(store: Store, tenantId: string, options: CallOptions | undefined): Promise<void> {
  try {
    for (let cursor: string | undefined; ; ) {
      const { next } = await store.runs.deleteExpired({ ...options, tenantId, limit: PAGE, ...(cursor && { cursor }) });
      if (next === undefined) return;
      cursor = next;
    }
  } catch (error) {
    if (!isTidemarkError(error, 'FORBIDDEN', 'UNSUPPORTED')) throw error;
  }
}

async function compareRun(
  store: Store,
  recorded: readonly RunPoint[],
  options: CallOptions | undefined,
): Promise<CheckpointProblem | 'archived' | 'unknown' | null> {
  const { tenantId, runId } = recorded[0]!;
  let open: Map<number, RunPoint[]> | null = null;
  try {
    for await (const { run, events } of store.runs.exportRun(runId, { ...options, tenantId })) {
      const { life = 1 } = run;
      const last = recorded.at(-1)!;
      if (last.life > life) return problemOf(last, 'replaced', `the run is in life ${life}, before life ${last.life}`);
      open ??= pointsOfLife(recorded, life);
      for (const { runSeq, link, persistedAt } of events) {
        for (const point of open.get(runSeq) ?? []) {
          if (link !== point.head) return problemOf(point, 'replaced', `event ${runSeq} has another link`);
          if (!point.removed && persistedAt !== point.at)
            return problemOf(point, 'time', `event ${runSeq} was stored at ${point.at}, not at ${persistedAt}`);
        }
        open.delete(runSeq);
      }
    }
  } catch (error) {
    if (isTidemarkError(error, 'RUN_ARCHIVED')) return 'archived';
    if (isTidemarkError(error, 'RUN_NOT_FOUND')) return 'unknown';
    if (isTidemarkError(error, 'CORRUPT_EVENT')) return problemOf(recorded.at(-1)!, 'damaged', error.message);
    throw error;
  }
  const [missing] = [...(open?.values() ?? [])].flat();
  return missing ? problemOf(missing, 'cut', `event ${missing.lastEventSeq} is missing`) : null;
}

/**
 * Returns the points of a life by their sequence. Earlier lives were deleted, because otherwise this life could not
 * have begun.
 */
function pointsOfLife(recorded: readonly RunPoint[], life: number): Map<number, RunPoint[]> {
  const points = new Map<number, RunPoint[]>();
  for (const point of recorded) {
    if (point.life !== life || point.lastEventSeq === 0) continue;
    points.set(point.lastEventSeq, [...(points.get(point.lastEventSeq) ?? []), point]);
  }
  return points;
}

function problemOf(
  { tenantId, runId, lastEventSeq: runSeq }: RunPoint,
  kind: CheckpointProblem['kind'],
  reason: string,
): CheckpointProblem {
  return { tenantId, runId, kind, runSeq, reason };
}
