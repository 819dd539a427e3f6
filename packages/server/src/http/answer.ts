/** Writes responses: JSON in one piece, or lines as they are produced. Both respect backpressure. */
import type { ServerResponse } from 'node:http';
import { inParts } from '@tidemark/core/engine';
import { JSON_TYPE, LINES } from '@tidemark/wire';
import { problemOf } from './problems.ts';

/** The result of a handler: a JSON response, or `ANSWERED` if it has written the response itself. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export const ANSWERED = Symbol('answered');

/** Creates a JSON response. */
export function json(body: unknown, headers?: Record<string, string>): Answer {
  return headers ? { body, headers } : { body };
}

/** Responds with 201 for a new resource and 200 for an existing one. */
export function created(isNew: boolean, body: unknown): Answer {
  return { status: isNew ? 201 : 200, body };
}

export const NOTHING: Answer = { status: 204 };

/** The number of list items that are converted or serialised at a time. */
const SLICE = 100;

function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Maps a long list in slices, so that other requests are served in between. */
export async function mapInSlices<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  if (items.length <= SLICE) return items.map(map);
  const mapped: R[] = [];
  for (const slice of inParts(items, SLICE)) {
    for (const item of slice) mapped.push(map(item));
    await yieldToOthers();
  }
  return mapped;
}

/**
 * Serialises a long list in slices, so that other requests are served in between. Returns `undefined` for other
 * responses. The slices are not joined, because joining and encoding a megabyte of text takes as long as serialising
 * the list.
 */
export async function longListSlices({ body }: Answer): Promise<Buffer[] | undefined> {
  const items = (body as { items?: unknown } | null | undefined)?.items;
  if (!Array.isArray(items) || items.length <= SLICE) return undefined;
  const { items: _, ...rest } = body as Record<string, unknown>;
  const slices: Buffer[] = [];
  for (const slice of inParts(items, SLICE)) {
    const before = slices.length === 0 ? '{"items":[' : ',';
    slices.push(Buffer.from(before + JSON.stringify(slice).slice(1, -1)));
    await yieldToOthers();
  }
  const others = JSON.stringify(rest).slice(1);
  slices.push(Buffer.from(`]${others === '}' ? '' : ','}${others}`));
  return slices;
}

/** Writes a response in one piece, or in slices if it was serialised in slices. */
export function sendAnswer(
  response: ServerResponse,
  { status = 200, headers, body }: Answer,
  slices?: readonly Buffer[],
): number {
  if (body === undefined) {
    response.writeHead(status === 200 ? 204 : status, headers).end();
    return response.statusCode;
  }
  const text = slices ? '' : JSON.stringify(body);
  const length = slices ? slices.reduce((sum, slice) => sum + slice.length, 0) : Buffer.byteLength(text);
  response.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, ...headers });
  const hasBody = response.req.method !== 'HEAD';
  if (hasBody) for (const slice of slices ?? []) response.write(slice);
  // Text is sent in one piece with the head; bytes would be a separate write.
  response.end(hasBody && !slices ? text : undefined);
  return status;
}

/** Resolves to true when the socket accepts more data, or to false if the socket is closed. */
export function untilWritable(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (isOpen: boolean) => {
      response.off('drain', onDrain);
      response.off('close', onClose);
      resolve(isOpen);
    };
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    response.on('drain', onDrain);
    response.on('close', onClose);
  });
}

/**
 * Writes items as lines, reading no faster than the client. An error that occurs later is written as the last line, `{
 * "problem": … }`.
 */
export function sendLines(response: ServerResponse, items: AsyncIterable<unknown>): Promise<typeof ANSWERED> {
  return sendBatches(response, batchesOfOne(items));
}

async function* batchesOfOne(items: AsyncIterable<unknown>): AsyncGenerator<unknown[]> {
  for await (const item of items) yield [item];
}

/** Like `sendLines`, for items that arrive in batches. */
export async function sendBatches(
  response: ServerResponse,
  batches: AsyncIterable<readonly unknown[]>,
): Promise<typeof ANSWERED> {
  const iterator = batches[Symbol.asyncIterator]();
  // The first batch determines the status, so an immediate error is an ordinary problem response.
  let next = await iterator.next();
  response.writeHead(200, { 'content-type': LINES, 'cache-control': 'no-store' });
  try {
    while (!next.done) {
      const text = next.value.map((item) => `${JSON.stringify(item)}\n`).join('');
      if (!response.write(text) && !(await untilWritable(response))) break;
      next = await iterator.next();
    }
  } catch (error) {
    response.write(`${JSON.stringify({ problem: problemOf(error, response) })}\n`);
  } finally {
    if (!next.done) await iterator.return?.().catch(() => {});
  }
  response.end();
  return ANSWERED;
}
