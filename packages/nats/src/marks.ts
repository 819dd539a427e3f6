/** What is removed leaves a mark, so that those who follow the stream hear of it; once they have, the marks can go too. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineCall } from '@tidemark/core/engine';
import type { Messages } from './messages.ts';

/** By then every process that is connected has been told. */
const HEARD_AFTER_MS = 500;

/** Removes the marks of all subjects that match a filter, under which nothing else is left. */
export async function removeMarks(messages: Messages, filter: string, call: EngineCall): Promise<void> {
  if ((await messages.subjects(filter, call)).length > 0) await removeMarksOf(messages, [filter], call);
}

export async function removeMarksOf(messages: Messages, subjects: readonly string[], call: EngineCall): Promise<void> {
  if (subjects.length === 0) return;
  const last = await messages.lastSeq(call);
  await sleep(HEARD_AFTER_MS);
  for (const subject of subjects) await messages.purge(subject, last + 1, call);
}
