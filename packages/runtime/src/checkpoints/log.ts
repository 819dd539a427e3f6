/** The checkpoints of a file or a run, whose signatures, order and roots are checked as they are added. */
import type { KeyObject } from 'node:crypto';
import { TidemarkError } from '@tidemark/core';
import { type Checkpoint, hashOf, isSignedBy, type RunPoint } from './format.ts';
import { PointTree } from './point-tree.ts';

export function pointKey({ tenantId, runId }: { tenantId: string; runId: string }): string {
  return JSON.stringify([tenantId, runId]);
}

export class CheckpointLog {
  last: Checkpoint | null = null;
  /** The latest point of each run. */
  readonly current = new Map<string, RunPoint>();
  /** All points of each run, oldest first. */
  readonly points = new Map<string, RunPoint[]>();
  readonly #tree = new PointTree();
  /** The `previous` of each checkpoint, in order. */
  readonly #previous: (string | null)[] = [];
  readonly #name: string;

  /** @param name names the file or run in errors */
  constructor(name: string) {
    this.#name = name;
  }

  /**
   * Adds a checkpoint with the points that have changed since the previous one. Throws `CORRUPT_VALUE` if it does not
   * follow the previous checkpoint.
   */
  add(checkpoint: Checkpoint, changed: readonly RunPoint[], key: KeyObject): void {
    const { last } = this;
    const name = `checkpoint ${checkpoint.number}`;
    if (!isSignedBy(checkpoint, key)) throw this.damaged(`${name} is not signed by this key`);
    // Two programs wrote at once. The first checkpoint counts, and the second call failed with `CONFLICT`.
    if (this.#previous[checkpoint.number - 1] === checkpoint.previous) return;
    if (checkpoint.number !== (last?.number ?? 0) + 1 || checkpoint.previous !== (last && hashOf(last)))
      throw this.damaged(`${name} does not follow the checkpoint before it`);
    const { runs, root } = this.covering(changed);
    if (checkpoint.runs !== runs || checkpoint.root !== root)
      throw this.damaged(`the runs of ${name} do not match its root`);
    for (const point of changed) {
      const id = pointKey(point);
      const points = this.points.get(id);
      if (points) points.push(point);
      else this.points.set(id, [point]);
      this.current.set(id, point);
    }
    this.last = checkpoint;
    this.#previous.push(checkpoint.previous);
  }

  /**
   * Sets points and returns the values that a checkpoint over them states. Setting the same points again changes
   * nothing.
   */
  covering(changed: readonly RunPoint[]): Pick<Checkpoint, 'runs' | 'root'> {
    this.#tree.set(changed);
    return { runs: this.#tree.size, root: this.#tree.root };
  }

  damaged(problem: string): TidemarkError {
    return new TidemarkError('CORRUPT_VALUE', `${this.#name} cannot be used: ${problem}`);
  }
}

/** Where checkpoints are kept. */
export interface CheckpointTarget {
  /** The name of the file or run, for errors. */
  readonly name: string;
  /** Returns a text that changes with every checkpoint. */
  version(): Promise<string>;
  /** Reads all checkpoints. Throws `CORRUPT_VALUE` if one of them is not signed with the key. */
  read(key: KeyObject): Promise<CheckpointLog>;
  /** Appends a checkpoint after the checkpoints that were read. Throws `CONFLICT` if another program was faster. */
  append(checkpoint: Checkpoint, changed: readonly RunPoint[], key: KeyObject): Promise<void>;
}

export function overtaken(name: string, { number }: Checkpoint): TidemarkError {
  return new TidemarkError('CONFLICT', `${name} got checkpoint ${number} from another program; try again`);
}
