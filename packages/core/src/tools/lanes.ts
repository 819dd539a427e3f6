/**
 * Group commits by key. Concurrent calls of this process on one key share commits instead of racing, and calls on
 * different keys do not wait for each other. A lane is dropped once no call waits in it.
 */
import type { EngineCall } from '../engine/call.ts';
import { GroupCommit } from './group-commit.ts';

interface Lane<Operation, Outcome> {
  commits: GroupCommit<Operation, Outcome>;
  waiting: number;
}

export interface LaneOptions<Name> {
  /** Returns the key of a name's lane. */
  idOf: (name: Name) => string;
  /** Operations per commit. */
  maxGroup: number;
}

export class Lanes<Name, Operation, Outcome> {
  readonly #lanes = new Map<string, Lane<Operation, Outcome>>();
  readonly #options: LaneOptions<Name>;
  readonly #commit: (name: Name, operations: readonly Operation[]) => Promise<readonly (Outcome | Error)[]>;

  constructor(
    options: LaneOptions<Name>,
    commit: (name: Name, operations: readonly Operation[]) => Promise<readonly (Outcome | Error)[]>,
  ) {
    this.#options = options;
    this.#commit = commit;
  }

  /** Joins the next commit of a name. Settles once that commit is durable or refused. */
  async submit(name: Name, operation: Operation, call: EngineCall): Promise<Outcome> {
    const { idOf, maxGroup } = this.#options;
    const id = idOf(name);
    let lane = this.#lanes.get(id);
    if (!lane) {
      lane = { commits: new GroupCommit((take) => this.#commit(name, take()), { maxGroup }), waiting: 0 };
      this.#lanes.set(id, lane);
    }
    lane.waiting++;
    try {
      return await lane.commits.submit(operation, call);
    } finally {
      if (--lane.waiting === 0) this.#lanes.delete(id);
    }
  }
}

/**
 * Returns the bounds of a shared commit: the latest deadline, and no signal, since one caller must not stop the others.
 */
export function sharedCall(operations: readonly { call: EngineCall }[]): EngineCall {
  return { deadline: Math.max(...operations.map(({ call }) => call.deadline ?? Number.POSITIVE_INFINITY)) };
}
