/**
 * Options that had another name in version 0.1. They are refused, because ignoring them would turn a conditional write
 * into an unconditional one.
 */
import { invalidArgument } from '../contracts/errors.ts';

/** Old and new names, by the call that accepts them. */
const RENAMED = {
  deleteRun: { atSeq: 'expectedSeq' },
  archiveRun: { atSeq: 'expectedSeq', rewrites: 'expectedRewrites' },
  feed: { after: 'cursor' },
  swap: { expect: 'expected', revision: 'expectedRevision' },
  memory: { ifVersion: 'expectedVersion' },
} satisfies Record<string, Readonly<Record<string, string>>>;

/** Throws `INVALID_ARGUMENT` if the options of a call have a member under its old name. */
export function refuseOldNames(call: keyof typeof RENAMED, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  for (const [old, name] of Object.entries(RENAMED[call])) {
    if ((options as Record<string, unknown>)[old] !== undefined)
      throw invalidArgument(old, `absent; it is called ${name} now`);
  }
}
