/**
 * Reads request bodies. Their size and depth are limited before they are parsed. Bodies that may be long are read line
 * by line.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { parseJsonText } from '@tidemark/core';
import type { MemoryLease } from '../limits/memory-budget.ts';
import { Pieces } from './pieces.ts';
import { Refusal } from './refusal.ts';

const NEWLINE = 0x0a;
/** The 64 levels of a value, plus the members and lists around it. The store checks the depth of the value itself. */
const MAX_DEPTH = 72;
/** The maximum number of member names. An object with this many members takes about 50 ms to build. */
const MAX_NAMES = 50_000;
/**
 * How much memory a body takes, as a multiple of its size, because it exists as bytes, text and values at the same
 * time. The number of values has its own limit.
 */
export const COPIES_PER_BODY = 4;
const DRAIN_MS = 3_000;
const DRAIN_BYTES = 64 * 1024 * 1024;
const DRAIN_CHUNKS = 8_192;

/** Returns the declared type of a body, without the parameters of the type. */
export function contentTypeOf(request: IncomingMessage): string {
  const type = request.headers['content-type'] ?? '';
  if (type === 'application/json') return type;
  return type.split(';', 1)[0]!.trim().toLowerCase();
}

/** Refuses encoded bodies, because their decoded size is not limited. */
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

/**
 * The number of chunks that may have any size. Further chunks must have a minimum size, because receiving many tiny
 * chunks costs more than their content.
 */
const FREE_CHUNKS = 4_096;
const MIN_CHUNK_BYTES = 32;

/** Counts the chunks of a body and refuses a body that consists of many tiny chunks. */
class ChunkCount {
  #chunks = 0;
  #bytes = 0;

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (++this.#chunks <= FREE_CHUNKS || this.#bytes >= this.#chunks * MIN_CHUNK_BYTES) return;
    throw new Refusal(413, 'PAYLOAD_TOO_LARGE', 'The body comes in too many small chunks; send larger ones', {
      field: 'body',
      rule: `chunks of at least ${MIN_CHUNK_BYTES} bytes on average`,
    });
  }
}

/** Yields the chunks of a complete body. Stopping early leaves the socket open, because the response still needs it. */
export async function* wholeOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  const count = new ChunkCount();
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      count.add(chunk);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof Refusal ? error : cutOff();
  }
}

/**
 * Reads the whole body. Memory is reserved as bytes arrive, so that a body that is announced but never sent reserves
 * nothing.
 */
export function readBody(request: IncomingMessage, maxBytes: number, memory: MemoryLease): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const count = new ChunkCount();
    const refuse = (error: unknown) => {
      request.pause();
      request.removeListener('data', take);
      pieces.take();
      reject(error);
    };
    const take = (chunk: Buffer) => {
      if (pieces.bytes + chunk.length > maxBytes) return refuse(tooLarge(maxBytes));
      try {
        count.add(chunk);
        memory.grow(COPIES_PER_BODY * chunk.length + pieces.costOf(chunk));
      } catch (error) {
        return refuse(error);
      }
      pieces.add(chunk);
    };
    request.on('data', take);
    request.on('end', () => resolve(pieces.take()));
    request.on('error', () => reject(cutOff()));
    request.on('close', () => {
      if (!request.complete) reject(cutOff());
    });
  });
}

/** A shared object, because bulk appends have many lines. */
const BOUNDS = { maxDepth: MAX_DEPTH, maxMembers: 0, maxNames: MAX_NAMES };

/** Parses JSON with at most `maxMembers` members. */
export function parseJson(bytes: Buffer, maxMembers: number): unknown {
  BOUNDS.maxMembers = maxMembers;
  if (isUtf8(bytes)) return parseJsonText(bytes.toString(), 'body', BOUNDS);
  throw new Refusal(422, 'INVALID_PAYLOAD', 'The body is not UTF-8', { field: 'body', rule: 'JSON in UTF-8' });
}

/**
 * Yields the non-empty lines of a body in the chunks they arrived in, each at most `maxBytes` long. The memory of
 * incomplete lines is reserved here. The consumer reserves the memory of the lines that it holds.
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

/** The beginning of a line whose end has not arrived yet. */
export class PartialLine {
  readonly #maxBytes: number;
  readonly #memory: MemoryLease;
  readonly #pieces = new Pieces();
  #reserved = 0;

  constructor(maxBytes: number, memory: MemoryLease) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
  }

  add(piece: Buffer): void {
    if (this.#pieces.bytes + piece.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    const cost = this.#pieces.costOf(piece);
    this.#memory.grow(cost);
    this.#reserved += cost;
    this.#pieces.add(piece);
  }

  /** Returns the whole line, given its last piece. */
  end(piece: Buffer): Buffer {
    if (this.#pieces.bytes + piece.length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (this.#pieces.bytes === 0) return piece;
    this.#memory.shrink(this.#reserved);
    this.#reserved = 0;
    return this.#pieces.take(piece);
  }
}

function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === 0x0d);
}

/**
 * Discards the rest of a body after the response. Otherwise, a caller that is still sending would get a connection
 * reset instead of the response, and the next request on the connection would wait forever.
 */
export function drain(request: IncomingMessage): void {
  if (request.readableEnded || !hasBody(request)) return;
  let [bytes, chunks, bytesBefore] = [0, 0, -1];
  // Waits for two ticks without a byte. After this process was blocked, timers run before received bytes are read, so
  // one tick proves nothing.
  const timer = setInterval(() => {
    // The request may be complete without an end event, if the connection is already serving another request.
    if (request.complete) clearInterval(timer);
    else if (bytes === bytesBefore) request.destroy();
    bytesBefore = bytes;
  }, DRAIN_MS);
  request.on('end', () => clearInterval(timer));
  request.on('close', () => clearInterval(timer));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DRAIN_BYTES || ++chunks > DRAIN_CHUNKS) request.destroy();
  });
  request.resume();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
