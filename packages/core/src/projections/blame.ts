/** Blame: which event last wrote each path of a state, from the writes that a draft notices. */
import type { Blame } from '../contracts/projections.ts';
import { isContainer, memberOf } from './copy.ts';
import type { Draft } from './draft.ts';

/**
 * The sequence of the last write of each member of each object. What is put in whole has no marks of its own: a path was
 * last written by the latest write of any member on the way to it.
 */
export class WriteMarks {
  readonly #marks = new WeakMap<object, Map<string, number>>();
  /** The event that writes now. */
  seq = 0;

  readonly notice = (target: object, key: string): void => {
    const marks = this.#marks.get(target);
    if (marks) marks.set(key, this.seq);
    else this.#marks.set(target, new Map([[key, this.seq]]));
  };

  blame({ holder }: Draft): Blame {
    const blame: Blame = {};
    this.#visit(holder.state, '', this.#marks.get(holder)?.get('state') ?? 0, blame);
    return blame;
  }

  #visit(value: unknown, path: string, seq: number, blame: Blame): void {
    if (!isContainer(value)) {
      blame[path] = seq;
      return;
    }
    const marks = this.#marks.get(value);
    const keys = Object.keys(value);
    // What was removed last says when an object became empty.
    if (keys.length === 0) blame[path] = Math.max(seq, ...(marks?.values() ?? []));
    for (const key of keys)
      this.#visit(memberOf(value, key), pointer(path, key), Math.max(seq, marks?.get(key) ?? 0), blame);
  }
}

/** One step further in a JSON Pointer (RFC 6901). */
export function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
