/** What is removed leaves a mark, so that those who follow the stream hear of it; once they have, the marks can go too. */

import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import type { Messages } from './messages.ts';

/** By then every process that is connected has been told. */
const HEARD_AFTER_MS = 500;

/** Removes the marks of all subjects that match a filter, under which nothing else is left. */
export async function removeMarks(messages: Messages, filter: string, call: EngineCall): Promise<void> {
  if ((await messages.subjects(filter, call)).length === 0) return;
  await removeMarksOf(messages, [{ subject: filter, seq: await messages.lastSeq(call) }], call);
}

/** Removes marks and what is older on their subjects, but nothing that was written after them. */
export async function removeMarksOf(
  messages: Messages,
  marks: readonly { subject: string; seq: number }[],
  call: EngineCall,
): Promise<void> {
  if (marks.length === 0) return;
  await sleep(HEARD_AFTER_MS);
  for (const { subject, seq } of marks) await messages.purge(subject, seq + 1, call);
}
