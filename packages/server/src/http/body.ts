/** Bodies of requests: bounded in bytes and depth before anything is parsed, line by line where they may be long. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { parseJsonText } from '@tidemark/core';
import type { MemoryLease } from '../limits/memory-budget.ts';
import { Refusal } from './refusal.ts';

const NEWLINE = 0x0a;
/** A value of 64 levels, inside the members and lists that carry it; the store counts the value's own. */
const MAX_DEPTH = 72;
/** A body is there as bytes, as text and as values at the same time; how many values, their limit says. */
export const FORMS_OF_A_BODY = 4;
/** What a chunk costs besides its bytes: a body in chunks of one byte would be hundreds of times its size. */
const CHUNK_BYTES = 256;
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

/** Reads the whole body. What has arrived is reserved, so that bodies that are announced and never sent hold nothing. */
export function readBody(request: IncomingMessage, maxBytes: number, memory: MemoryLease): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: unknown) => {
      chunks = [];
      request.pause();
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) return refuse(tooLarge(maxBytes));
      try {
        memory.grow(FORMS_OF_A_BODY * chunk.length + CHUNK_BYTES);
      } catch (error) {
        return refuse(error);
      }
      chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    request.on('error', () => reject(cutOff()));
    request.on('close', () => {
      if (!request.complete) reject(cutOff());
    });
  });
}

/** The JSON value that bytes are, of at most as many members. */
export function parseJson(bytes: Buffer, maxMembers: number): unknown {
  if (isUtf8(bytes)) return parseJsonText(bytes.toString(), 'body', { maxDepth: MAX_DEPTH, maxMembers });
  throw new Refusal(422, 'INVALID_PAYLOAD', 'The body is not UTF-8', { field: 'body', rule: 'JSON in UTF-8' });
}

/**
 * The lines of a body that are not empty, in the chunks they arrived in; none longer than `maxBytes`. What waits for the rest of its
 * line is reserved here; who takes lines reserves them for as long as it holds them.
 */
export async function* readLines(
  request: IncomingMessage,
  maxBytes: number,
  memory: MemoryLease,
): AsyncGenerator<Buffer[]> {
  const rest = new PartialLine(maxBytes, memory);
  for await (const chunk of wholeOf(request)) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = rest.end(chunk.subarray(start, end));
      if (!isBlank(line)) lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) rest.add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  const line = rest.end(Buffer.alloc(0));
  if (!isBlank(line)) yield [line];
}

/** The beginning of a line whose end has not arrived. */
export class PartialLine {
  readonly #maxBytes: number;
  readonly #memory: MemoryLease;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #reserved = 0;

  constructor(maxBytes: number, memory: MemoryLease) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
  }

  add(piece: Buffer): void {
    if (this.#bytes + piece.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    const cost = piece.length + CHUNK_BYTES;
    this.#memory.grow(cost);
    this.#reserved += cost;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  /** The whole line. */
  end(piece: Buffer): Buffer {
    if (this.#bytes + piece.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (this.#bytes === 0) return piece;
    const line = Buffer.concat([...this.#pieces, piece]);
    this.#memory.shrink(this.#reserved);
    this.#pieces = [];
    this.#bytes = 0;
    this.#reserved = 0;
    return line;
  }
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
