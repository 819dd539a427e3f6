/** Bodies that are a line of JSON about the bytes, and then the bytes. */
import type { IncomingMessage } from 'node:http';
import { parseJson, wholeOf } from './body.ts';
import { Refusal } from './refusal.ts';

/** The type of such a body. */
export const LABELLED_BYTES = 'application/vnd.tidemark.artifact';

const NEWLINE = 0x0a;

/** What the first line says, and the bytes after it as they come. */
export async function readLabelled(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ label: unknown; chunks: AsyncIterable<Uint8Array> }> {
  const chunks = wholeOf(request);
  let head = Buffer.alloc(0);
  for (;;) {
    const next = await chunks.next();
    if (next.done) throw refused('a line of JSON, then the bytes');
    head = Buffer.concat([head, next.value]);
    const end = head.indexOf(NEWLINE);
    if (end >= 0) return { label: parseJson(head.subarray(0, end)), chunks: rest(head.subarray(end + 1), chunks) };
    if (head.length > maxBytes) throw refused(`a first line of at most ${maxBytes} bytes`);
  }
}

async function* rest(first: Buffer, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  yield* chunks;
}

function refused(rule: string): Refusal {
  return new Refusal(400, 'INVALID_ARGUMENT', `The body must be ${rule}`, { field: 'body', rule });
}
