/** Writes checkpoints of a store to a file, and compares a store with the checkpoints of a file (RUN-23). */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { type CallOptions, isTidemarkError, type RunSummary, type Store, TidemarkError } from '@tidemark/core';
import { itemsOf, tenantsOf } from '../listing.ts';
import { appendCheckpoint, pointKey, readCheckpoints } from './file.ts';
import {
  CHECKPOINT_FORMAT,
  type Checkpoint,
  type CheckpointKey,
  hashOf,
  privateKeyOf,
  publicKeyOf,
  type RunPoint,
  rawKey,
  rootOf,
  signed,
} from './format.ts';

const NO_LINK = '00'.repeat(32);
const PAGE = 1_000;

export interface CheckpointerOptions {
  store: Store;
  /** The file that checkpoints are appended to. Keep it where writers of the store cannot change it. */
  file: string;
  /** The Ed25519 private key that signs, as PEM text or a `KeyObject`. */
  key: CheckpointKey;
}

/** Options of `verifyCheckpoints`. */
export interface VerifyCheckpointsOptions {
  store: Store;
  /** The file that a checkpointer has written. */
  file: string;
  /** The Ed25519 public key of the signer, as PEM text or a `KeyObject`. Do not take it from the file. */
  publicKey: CheckpointKey;
}

/** A written checkpoint. */
export interface CheckpointReport extends Checkpoint {
  /** How many runs have changed since the checkpoint before. */
  changed: number;
  /** Runs that could not be read. Their last point stays. */
  damaged: { tenantId: string; runId: string; reason: string }[];
}

export interface Checkpointer {
  /**
   * Reads the runs that have changed, and appends a signed root over all runs to the file.
   *
   * @throws `CORRUPT_VALUE` if the file is damaged or signed by another key, `CONFLICT` if another program wrote a
   * checkpoint at the same time.
   */
  checkpoint(options?: CallOptions): Promise<CheckpointReport>;
}

/** A run that does not match the checkpoints. */
export interface CheckpointProblem {
  tenantId: string;
  runId: string;
  /**
   * `missing`: neither the run nor a tombstone exists. `cut`: its last events are missing. `replaced`: it has another
   * history. `time`: the time of an event was changed. `damaged`: its chain does not hold.
   */
  kind: 'missing' | 'cut' | 'replaced' | 'time' | 'damaged';
  /** The sequence of the last event at the checkpoint. */
  runSeq: number;
  reason: string;
}

/** The result of comparing a store with checkpoints. */
export interface CheckpointCheck {
  ok: boolean;
  /** The last checkpoint of the file. */
  last: Checkpoint;
  /** How many runs were compared. */
  runs: number;
  /** How many of them are deleted or archived, which their tombstones explain. */
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
export function createCheckpointer({ store, file, key }: CheckpointerOptions): Checkpointer {
  const privateKey = privateKeyOf(key);
  const publicKey = createPublicKey(privateKey);
  return { checkpoint: (options) => writeCheckpoint(store, file, privateKey, publicKey, options) };
}

async function writeCheckpoint(
  store: Store,
  path: string,
  privateKey: KeyObject,
  publicKey: KeyObject,
  options: CallOptions | undefined,
): Promise<CheckpointReport> {
  const log = await readCheckpoints(path, publicKey);
  const next = new Map(log.current);
  const damaged: CheckpointReport['damaged'] = [];
  for await (const tenantId of tenantsOf(store)) {
    const list = (cursor: { cursor?: string }) =>
      store.runs.listRuns({ ...options, ...cursor, tenantId, order: 'oldest', limit: PAGE });
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
      if (known?.removed === run.kind && known.at === run.at) continue;
      const { life = 1, lastEventSeq = 0, head = NO_LINK } = known ?? {};
      const { runId, at, kind: removed } = run;
      next.set(pointKey(run), { tenantId, runId, life, lastEventSeq, head, at, removed });
    }
  }
  const changed = [...next].filter(([id, point]) => log.current.get(id) !== point).map(([, point]) => point);
  const checkpoint = signed(
    {
      format: CHECKPOINT_FORMAT,
      number: (log.last?.number ?? 0) + 1,
      at: new Date().toISOString(),
      runs: next.size,
      root: rootOf(next.values()),
      previous: log.last && hashOf(log.last),
      key: rawKey(publicKey),
    },
    privateKey,
  );
  await appendCheckpoint(path, log, changed, checkpoint, publicKey);
  return { ...checkpoint, changed: changed.length, damaged };
}

function isSame(known: RunPoint | undefined, { lastEventSeq, updatedAt }: RunSummary): boolean {
  return known !== undefined && !known.removed && known.lastEventSeq === lastEventSeq && known.at === updatedAt;
}

function removedRuns(store: Store, tenantId: string, options: CallOptions | undefined) {
  return itemsOf((cursor) => store.admin.listRemovedRuns({ ...options, ...cursor, tenantId, limit: PAGE }));
}

/** Reads a run up to its head. Returns `null` if it was removed meanwhile: its tombstone is listed later. */
async function pointOf(
  store: Store,
  { tenantId, runId }: RunSummary,
  options: CallOptions | undefined,
): Promise<RunPoint | null> {
  let point: RunPoint | null = null;
  try {
    for await (const { events } of store.runs.exportRun(runId, { ...options, tenantId })) {
      const { runSeq: lastEventSeq, link: head, persistedAt: at } = events.at(-1)!;
      point = { tenantId, runId, life: 1, lastEventSeq, head, at };
    }
    return point;
  } catch (error) {
    if (isTidemarkError(error, 'RUN_NOT_FOUND') || isTidemarkError(error, 'RUN_ARCHIVED')) return null;
    throw error;
  }
}

/**
 * Compares every run with all checkpoints of a file: it must continue each recorded history, or have a tombstone. Reads
 * the whole log of every run.
 *
 * @throws `CORRUPT_VALUE` if the file is damaged or signed by another key, `NOT_FOUND` if it has no checkpoint.
 * @example
 * const { privateKey, publicKey } = generateKeyPairSync('ed25519');
 * await createCheckpointer({ store, file: 'checkpoints.jsonl', key: privateKey }).checkpoint();
 * const { ok } = await verifyCheckpoints({ store, file: 'checkpoints.jsonl', publicKey });
 * console.log(ok); // true
 */
export async function verifyCheckpoints(
  { store, file, publicKey }: VerifyCheckpointsOptions,
  options?: CallOptions,
): Promise<CheckpointCheck> {
  const { last, points } = await readCheckpoints(file, publicKeyOf(publicKey));
  if (last === null) throw new TidemarkError('NOT_FOUND', `${file} has no checkpoint to compare with`);
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
  // Listed after the runs were read: a run that was deleted in between has its tombstone.
  for (const tenantId of new Set(unknown.map((point) => point.tenantId))) {
    const removed = new Set<string>();
    for await (const run of removedRuns(store, tenantId, options)) removed.add(pointKey(run));
    for (const point of unknown.filter((it) => it.tenantId === tenantId)) {
      if (removed.has(pointKey(point))) check.removed++;
      else check.problems.push(problemOf(point, 'missing', 'neither the run nor a tombstone exists'));
    }
  }
  check.ok = check.problems.length === 0;
  return check;
}

async function compareRun(
  store: Store,
  recorded: readonly RunPoint[],
  options: CallOptions | undefined,
): Promise<CheckpointProblem | 'archived' | 'unknown' | null> {
  const { tenantId, runId } = recorded[0]!;
  const open = new Map(
    recorded.filter(({ lastEventSeq }) => lastEventSeq > 0).map((it) => [it.lastEventSeq, [] as RunPoint[]]),
  );
  for (const point of recorded) open.get(point.lastEventSeq)?.push(point);
  try {
    for await (const { events } of store.runs.exportRun(runId, { ...options, tenantId })) {
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
  const [missing] = [...open.values()].flat();
  return missing ? problemOf(missing, 'cut', `event ${missing.lastEventSeq} is missing`) : null;
}

function problemOf(
  { tenantId, runId, lastEventSeq: runSeq }: RunPoint,
  kind: CheckpointProblem['kind'],
  reason: string,
): CheckpointProblem {
  return { tenantId, runId, kind, runSeq, reason };
}
