/** Asks before something goes for good: the user types what is about to go, because "y" is typed too easily. */
import { TidemarkError } from '@tidemark/core';
import { type Io, readLine } from './io.ts';
import { printable } from './table.ts';

export interface Confirmation {
  /** What is about to happen: `delete the run order-42 with its 17 events`. */
  action: string;
  /** What the user types to say yes. */
  answer: string;
}

export async function askToConfirm(io: Io, { action, answer }: Confirmation, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return;
  if (!io.stdin.isTerminal || !io.stderr.isTerminal) {
    throw new TidemarkError('INVALID_ARGUMENT', `This would ${action}, and nobody can be asked here: pass --yes`, {
      field: '--yes',
      rule: 'given where there is no terminal',
    });
  }
  await io.stderr.write(`This will ${printable(action)}.\nType ${printable(answer)} to go on: `);
  if ((await readLine(io)).trim() !== answer) {
    throw new TidemarkError('ABORTED', 'Not confirmed: nothing was changed');
  }
}
