/** Parts of carried runs that fit in a line: many small events, or a few large ones. */
import { byteLength } from '../checks/bytes.ts';
import type { ExportedEvent, RunPart } from '../contracts/run-parts.ts';

/** Well below what a server takes as a line, also when its text is escaped. */
const PART_BYTES = 4 * 1024 * 1024;

/** The same part, or several in its place where its texts are larger than one should be. */
export function* smallParts({ run, events, isLast }: RunPart): Generator<RunPart, void, undefined> {
  let few: ExportedEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = sizeOf(event);
    if (few.length > 0 && bytes + size > PART_BYTES) {
      yield { run, events: few, isLast: false };
      few = [];
      bytes = 0;
    }
    few.push(event);
    bytes += size;
  }
  yield { run, events: few, isLast };
}

/** Also of what is no event: whoever restores it refuses it. */
function sizeOf(event: ExportedEvent): number {
  const { payload, extra } = Object(event) as ExportedEvent;
  return (typeof payload === 'string' ? byteLength(payload) : 0) + (typeof extra === 'string' ? byteLength(extra) : 0);
}
