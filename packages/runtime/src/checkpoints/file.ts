/**
 * A file of checkpoints: lines of JSON that are only appended. Each checkpoint has a first line, the points that changed
 * since the one before, and the signed line. Lines without a signed line are left over from an interrupted write.
 */

import type { KeyObject } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { TidemarkError } from '@tidemark/core';
import { CHECKPOINT_FORMAT, type Checkpoint, hashOf, isSignedBy, type RunPoint, rootOf } from './format.ts';

type Line = { begin: number } | { point: RunPoint } | Checkpoint;

/** The content of a file whose signatures and roots were checked. */
export interface CheckpointLog {
  last: Checkpoint | null;
  /** The latest point of each run. */
  current: Map<string, RunPoint>;
  /** All points of each run, oldest first. */
  points: Map<string, RunPoint[]>;
  /** The `previous` of each checkpoint, in order. */
  previous: (string | null)[];
  endsWithLine: boolean;
}

export function pointKey({ tenantId, runId }: { tenantId: string; runId: string }): string {
  return JSON.stringify([tenantId, runId]);
}

/** Reads a file; a missing one has no checkpoints. Throws `CORRUPT_VALUE` for one that the key has not signed. */
export async function readCheckpoints(path: string, key: KeyObject): Promise<CheckpointLog> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const log: CheckpointLog = {
    last: null,
    current: new Map(),
    points: new Map(),
    previous: [],
    endsWithLine: text === '' || text.endsWith('\n'),
  };
  let block: RunPoint[] | null = null;
  let isTorn = false;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const content = parsed(line);
    if (content === null) isTorn = true;
    else if ('begin' in content) [block, isTorn] = [[], false];
    else if ('point' in content) block?.push(content.point);
    else if (block === null || isTorn) throw damaged(path, 'a checkpoint has lost lines');
    else {
      take(log, content, block, key, path);
      block = null;
    }
  }
  return log;
}

function parsed(line: string): Line | null {
  try {
    const content = JSON.parse(line) as Line | null;
    if (typeof content !== 'object' || content === null) return null;
    return 'begin' in content || 'point' in content || content.format === CHECKPOINT_FORMAT ? content : null;
  } catch {
    return null;
  }
}

function take(log: CheckpointLog, checkpoint: Checkpoint, changed: RunPoint[], key: KeyObject, path: string): void {
  const { last } = log;
  const name = `checkpoint ${checkpoint.number}`;
  if (!isSignedBy(checkpoint, key)) throw damaged(path, `${name} is not signed by this key`);
  // Two programs wrote at once: the first one counts, and the second call failed with `CONFLICT`.
  if (log.previous[checkpoint.number - 1] === checkpoint.previous) return;
  if (checkpoint.number !== (last?.number ?? 0) + 1 || checkpoint.previous !== (last && hashOf(last)))
    throw damaged(path, `${name} does not follow the checkpoint before it`);
  const current = new Map(log.current);
  for (const point of changed) current.set(pointKey(point), point);
  if (checkpoint.runs !== current.size || checkpoint.root !== rootOf(current.values()))
    throw damaged(path, `the runs of ${name} do not match its root`);
  for (const point of changed) log.points.set(pointKey(point), [...(log.points.get(pointKey(point)) ?? []), point]);
  log.current = current;
  log.last = checkpoint;
  log.previous.push(checkpoint.previous);
}

function damaged(path: string, problem: string): TidemarkError {
  return new TidemarkError('CORRUPT_VALUE', `${path} cannot be used: ${problem}`);
}

/** Appends a checkpoint in one write. Throws `CONFLICT` if another program has written the same number first. */
export async function appendCheckpoint(
  path: string,
  log: CheckpointLog,
  changed: readonly RunPoint[],
  checkpoint: Checkpoint,
  key: KeyObject,
): Promise<void> {
  const lines: Line[] = [{ begin: checkpoint.number }, ...changed.map((point) => ({ point })), checkpoint];
  const block = `${log.endsWithLine ? '' : '\n'}${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`;
  const file = await open(path, 'a', 0o600);
  try {
    await file.appendFile(block);
    await file.sync();
  } finally {
    await file.close();
  }
  const { last } = await readCheckpoints(path, key);
  if (last?.signature !== checkpoint.signature)
    throw new TidemarkError('CONFLICT', `${path} got checkpoint ${checkpoint.number} from another program; try again`);
}
