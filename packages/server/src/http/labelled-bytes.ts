/** Reads bodies that consist of a line of JSON followed by bytes. */
import type { IncomingMessage } from 'node:http';
import type { MemoryLease } from '../limits/memory-budget.ts';
import { PartialLine, parseJson, wholeOf } from './body.ts';
import { Refusal } from './refusal.ts';

const NEWLINE = 0x0a;
/** The maximum number of members in the line. It contains some names, a scope and a source. */
const MAX_MEMBERS = 100_000;

/** Returns the first line as JSON, and the following bytes as a stream. */
export async function readLabelled(
  request: IncomingMessage,
  maxBytes: number,
  memory: MemoryLease,
): Promise<{ label: object; chunks: AsyncIterable<Uint8Array> }> {
  const chunks = wholeOf(request);
  const line = new PartialLine(maxBytes, memory);
  for (;;) {
    const next = await chunks.next();
    if (next.done) throw refused('a line of JSON, then the bytes');
    const end = next.value.indexOf(NEWLINE);
    if (end < 0) line.add(next.value);
    else {
      const label = parseJson(line.end(next.value.subarray(0, end)), MAX_MEMBERS);
      return { label: checkLabel(label), chunks: rest(next.value.subarray(end + 1), chunks) };
    }
  }
}

function checkLabel(label: unknown): object {
  if (typeof label === 'object' && label !== null && !Array.isArray(label)) return label;
  throw refused('a line with a JSON object, then the bytes');
}

async function* rest(first: Buffer, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  yield* chunks;
}

function refused(rule: string): Refusal {
  return new Refusal(400, 'INVALID_ARGUMENT', `The body must be ${rule}`, { field: 'body', rule });
}
