/**
 * Delete markers. Removing a subject leaves a marker, so that followers of the stream notice the removal. The markers
 * are removed later.
 */

import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import type { Messages } from './messages.ts';

/** After this time, every connected process is assumed to have received the markers. */
const RECEIVED_AFTER_MS = 500;

/** Removes the markers of all subjects that match a filter, if the filter matches no other messages. */
export async function removeMarkersUnder(messages: Messages, filter: string, call: EngineCall): Promise<void> {
  if ((await messages.subjects(filter, call)).length === 0) return;
  await removeMarkers(messages, [{ subject: filter, seq: await messages.lastSeq(call) }], call);
}

/** Removes markers and older messages of their subjects, but no message written after a marker. */
export async function removeMarkers(
  messages: Messages,
  markers: readonly { subject: string; seq: number }[],
  call: EngineCall,
): Promise<void> {
  if (markers.length === 0) return;
  await sleep(RECEIVED_AFTER_MS);
  for (const { subject, seq } of markers) await messages.purge(subject, seq + 1, call);
}
