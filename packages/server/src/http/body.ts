/** Bodies of requests: bounded in bytes and depth before anything is parsed, line by line where they may be long. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { parseJsonText } from '@tidemark/core';
import { Refusal } from './refusal.ts';

const NEWLINE = 0x0a;
/** A value of 64 levels, inside the members and lists that carry it; the store counts the value's own. */
const MAX_DEPTH = 72;
const DRAIN_MS = 5_000;
const DRAIN_BYTES = 64 * 1024 * 1024;

/** The type a body is declared to be, without its parameters. */
export function contentTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** Encoded bodies could hide any size: they are refused. */
export function refuseEncoded(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new Refusal(415, 'INVALID_ARGUMENT', 'Send the body without a content encoding', {
      field: 'content-encoding',
      rule: 'absent',
    });
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal(413, 'PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes; send less at once`, {
    field: 'body',
    rule: `at most ${maxBytes} bytes`,
  });
}

function cutOff(): Refusal {
  return new Refusal(400, 'ABORTED', 'The request ended before its body did');
}

/** The chunks of a body that ends where it should. Whoever stops early leaves the socket alone: it still has to answer. */
export async function* wholeOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false });
  } catch {
    throw cutOff();
  }
}

/** The whole body. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) {
        chunks.push(chunk);
      } else {
        request.pause();
        reject(tooLarge(maxBytes));
      }
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    request.on('error', () => reject(cutOff()));
    request.on('close', () => {
      if (!request.complete) reject(cutOff());
    });
  });
}

/** The JSON value that bytes are. */
export function parseJson(bytes: Buffer): unknown {
  if (isUtf8(bytes)) return parseJsonText(bytes.toString(), 'body', MAX_DEPTH);
  throw new Refusal(422, 'INVALID_PAYLOAD', 'The body is not UTF-8', { field: 'body', rule: 'JSON in UTF-8' });
}

/** The lines of a body that are not empty, in the chunks they arrived in; none longer than `maxBytes`. */
export async function* readLines(request: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer[]> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of wholeOf(request)) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      const line = rest.length > 0 ? Buffer.concat([...rest, piece]) : piece;
      if (line.length > maxBytes) throw tooLarge(maxBytes);
      if (!isBlank(line)) lines.push(line);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > maxBytes) throw tooLarge(maxBytes);
    if (lines.length > 0) yield lines;
  }
  const line = Buffer.concat(rest);
  if (!isBlank(line)) yield [line];
}

function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === 0x0d);
}

/**
 * Reads on for a while what was not wanted of a body that has been answered: a caller that still sends would not see the
 * answer before a reset, and the next request on the connection would wait behind it for ever.
 */
export function drain(request: IncomingMessage): void {
  if (request.readableEnded || !hasBody(request)) return;
  let bytes = 0;
  const timer = setTimeout(() => request.destroy(), DRAIN_MS);
  request.on('close', () => clearTimeout(timer));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DRAIN_BYTES) request.destroy();
  });
  request.resume();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
