/**
 * Asks for confirmation before data is removed. The user types the name of the data, because "y" is typed too easily.
 */
import { TidemarkError } from '@tidemark/core';
import { type Io, readLine } from './io.ts';
import { printable } from './table.ts';

export interface Confirmation {
  /** The action to confirm: `delete the run order-42 with its 17 events`. */
  action: string;
  /** The text that the user types to confirm. */
  answer: string;
}

export async function askToConfirm(io: Io, { action, answer }: Confirmation, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return;
  if (!io.stdin.isTerminal || !io.stderr.isTerminal) {
    throw new TidemarkError(
      'INVALID_ARGUMENT',
      `This would ${action}, and there is no terminal to confirm it: pass --yes`,
      {
        field: '--yes',
        rule: 'given where there is no terminal',
      },
    );
  }
  await io.stderr.write(`This will ${printable(action)}.\nType ${printable(answer)} to continue: `);
  if ((await readLine(io)).trim() !== answer) {
    throw new TidemarkError('ABORTED', 'Not confirmed: nothing was changed');
  }
}
