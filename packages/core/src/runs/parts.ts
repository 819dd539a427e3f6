/** Splits parts of exported runs so that each fits in one line: many small events, or a few large ones. */
import { byteLength } from '../checks/bytes.ts';
import type { ExportedEvent, RunPart } from '../contracts/run-parts.ts';

/** Well below the longest line a server accepts, even when the text is escaped. */
const PART_BYTES = 4 * 1024 * 1024;

/** Yields the part unchanged, or split into several when its payloads are too large for one. */
export function* smallParts({ run, events, isLast }: RunPart): Generator<RunPart, void, undefined> {
  let batch: ExportedEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = sizeOf(event);
    if (batch.length > 0 && bytes + size > PART_BYTES) {
      yield { run, events: batch, isLast: false };
      batch = [];
      bytes = 0;
    }
    batch.push(event);
    bytes += size;
  }
  yield { run, events: batch, isLast };
}

/** Accepts values that are not events; the restore rejects them later. */
function sizeOf(event: ExportedEvent): number {
  const { payload, extra } = Object(event) as ExportedEvent;
  return (typeof payload === 'string' ? byteLength(payload) : 0) + (typeof extra === 'string' ? byteLength(extra) : 0);
}
