/**
 * Delete markers: a removed subject leaves one, so that followers of the stream learn of the removal. Afterwards the
 * markers are removed too.
 */

import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import type { Messages } from './messages.ts';

/** By then every connected process has received the markers. */
const RECEIVED_AFTER_MS = 500;

/** Removes the markers of all subjects that match a filter, under which nothing else is left. */
export async function removeMarkersUnder(messages: Messages, filter: string, call: EngineCall): Promise<void> {
  if ((await messages.subjects(filter, call)).length === 0) return;
  await removeMarkers(messages, [{ subject: filter, seq: await messages.lastSeq(call) }], call);
}

/** Removes markers and older messages of their subjects, but nothing written after them. */
export async function removeMarkers(
  messages: Messages,
  markers: readonly { subject: string; seq: number }[],
  call: EngineCall,
): Promise<void> {
  if (markers.length === 0) return;
  await sleep(RECEIVED_AFTER_MS);
  for (const { subject, seq } of markers) await messages.purge(subject, seq + 1, call);
}
