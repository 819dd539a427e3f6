/**
 * Group commits by key. Concurrent calls of this process on one key share commits instead of racing, and calls on
 * different keys do not wait for each other. A lane is dropped once no call waits in it.
 */
import type { EngineCall } from '../engine/call.ts';
import { GroupCommit } from './group-commit.ts';

/** Executes the operations of one lane. `id` is the key of the lane. */
type CommitLane<Name, Operation, Outcome> = (
  name: Name,
  operations: readonly Operation[],
  id: string,
) => Promise<readonly (Outcome | Error)[]>;

export interface LaneOptions<Name> {
  /** Returns the key of a name's lane. */
  idOf: (name: Name) => string;
  /** Operations per commit. */
  maxGroup: number;
}

export class Lanes<Name, Operation, Outcome> {
  readonly #lanes = new Map<string, GroupCommit<Operation, Outcome>>();
  readonly #options: LaneOptions<Name>;
  readonly #commit: CommitLane<Name, Operation, Outcome>;

  constructor(options: LaneOptions<Name>, commit: CommitLane<Name, Operation, Outcome>) {
    this.#options = options;
    this.#commit = commit;
  }

  /** Joins the next commit of a name. Settles once that commit is durable or refused. */
  submit(name: Name, operation: Operation, call: EngineCall): Promise<Outcome> {
    const { idOf, maxGroup } = this.#options;
    const id = idOf(name);
    let lane = this.#lanes.get(id);
    if (!lane) {
      const onIdle = () => this.#lanes.delete(id);
      lane = new GroupCommit((take) => this.#commit(name, take(), id), { maxGroup, onIdle });
      this.#lanes.set(id, lane);
    }
    return lane.submit(operation, call);
  }
}

/**
 * Returns the bounds of a shared commit: the latest deadline, and no signal, because one caller must not stop the
 * others.
 */
export function sharedCall(operations: readonly { call: EngineCall }[]): EngineCall {
  let deadline = Number.NEGATIVE_INFINITY;
  for (const { call } of operations) deadline = Math.max(deadline, call.deadline ?? Number.POSITIVE_INFINITY);
  return { deadline };
}
