/** Blame: finds the event that last wrote each path of a state, based on the writes that a draft reports. */
import type { Blame } from '../contracts/projections.ts';
import { isContainer, memberOf } from './copy.ts';
import type { Draft } from './draft.ts';

/**
 * Records which event last wrote each member of each object, by sequence. The members of an object that was inserted
 * whole have no entries: the last write of a path is the latest write of any member along it.
 */
export class WriteTracker {
  readonly #lastWrites = new WeakMap<object, Map<string, number>>();
  /** The sequence of the event that is being folded. */
  seq = 0;

  readonly record = (target: object, key: string): void => {
    const writes = this.#lastWrites.get(target);
    if (writes) writes.set(key, this.seq);
    else this.#lastWrites.set(target, new Map([[key, this.seq]]));
  };

  blame({ holder }: Draft): Blame {
    const blame: Blame = {};
    this.#visit(holder.state, '', this.#lastWrites.get(holder)?.get('state') ?? 0, blame);
    return blame;
  }

  #visit(value: unknown, path: string, seq: number, blame: Blame): void {
    if (!isContainer(value)) {
      blame[path] = seq;
      return;
    }
    const writes = this.#lastWrites.get(value);
    const keys = Object.keys(value);
    // An object became empty when its last member was removed.
    if (keys.length === 0) blame[path] = Math.max(seq, ...(writes?.values() ?? []));
    for (const key of keys)
      this.#visit(memberOf(value, key), pointer(path, key), Math.max(seq, writes?.get(key) ?? 0), blame);
  }
}

/** Appends a key to a JSON Pointer (RFC 6901). */
export function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
