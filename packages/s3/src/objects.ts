/** Reads, lists and removes objects. A read that is cut off resumes at the byte that it had reached. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { type Connection, Refused, type Request } from './connection.ts';
import { failureOf } from './errors.ts';

/** How many times in succession a read may be cut off without receiving a byte. */
const MAX_CUTS = 5;

/** A range of bytes. `end` may be beyond the end of the object. */
interface Range {
  start: number;
  end: number;
}

const ALL: Range = { start: 0, end: Number.POSITIVE_INFINITY };

interface Opened {
  body: Readable;
  etag: string | undefined;
  /** The number of bytes in the stream. */
  length: number;
}

/** Yields the bytes of a range, or returns `null` if the object does not exist. */
export async function readObject(
  connection: Connection,
  name: string,
  call: EngineCall,
  range: Range = ALL,
): Promise<AsyncIterable<Uint8Array> | null> {
  const key = connection.keyOf(name);
  const opened = await openObject(connection, key, range, undefined, call);
  return opened && bytesOf(connection, key, opened, range.start, call);
}

async function openObject(
  connection: Connection,
  key: string,
  { start, end }: Range,
  etag: string | undefined,
  call: EngineCall,
): Promise<Opened | null> {
  const isWhole = start === 0 && end === Number.POSITIVE_INFINITY;
  const last = end === Number.POSITIVE_INFINITY ? '' : String(end - 1);
  const command = new GetObjectCommand({
    Bucket: connection.settings.bucket,
    Key: key,
    ...(isWhole ? {} : { Range: `bytes=${start}-${last}` }),
    ...(etag === undefined ? {} : { IfMatch: etag }),
  });
  const request: Request = { permission: 's3:GetObject', key, kind: 'read' };
  try {
    const { value } = await connection.send(
      request,
      (client, options) => client.send(command, options),
      // The time limit of the request ends when the first byte arrives. Pauses in the stream are limited below.
      call,
      ['NoSuchKey', 412, 416],
    );
    return { body: value.Body as Readable, etag: value.ETag, length: value.ContentLength ?? 0 };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.failure.code === 'NoSuchKey') return null;
    throw new TidemarkError('UNAVAILABLE', `The object ${key} was replaced while it was read`, { cause: error });
  }
}

async function* bytesOf(
  connection: Connection,
  key: string,
  first: Opened,
  start: number,
  call: EngineCall,
): AsyncGenerator<Uint8Array> {
  const end = start + first.length;
  let [at, cuts] = [start, 0];
  for (let opened: Opened = first; ; ) {
    try {
      for await (const piece of paced(opened.body, connection.settings.requestTimeoutMs, call)) {
        if (at + piece.length > end)
          throw new TidemarkError('UNAVAILABLE', `The object ${key} is longer than announced`);
        at += piece.length;
        cuts = 0;
        yield piece;
      }
      if (at === end) return;
      throw new Error('it ended early');
    } catch (error) {
      if (error instanceof TidemarkError) throw error;
      if (++cuts > MAX_CUTS || call.signal?.aborted) {
        const message = `Reading s3://${connection.settings.bucket}/${key} was cut off: ${failureOf(error).message}`;
        throw new TidemarkError('UNAVAILABLE', message, { cause: error });
      }
    } finally {
      opened.body.destroy();
    }
    const next = await openObject(connection, key, { start: at, end }, opened.etag, call);
    if (next === null) throw new TidemarkError('UNAVAILABLE', `The object ${key} was removed while it was read`);
    opened = next;
  }
}

/** Yields the chunks of a stream. Throws if the stream pauses for too long, or if the deadline of the call passes. */
async function* paced(body: Readable, pauseMs: number, call: EngineCall): AsyncGenerator<Buffer> {
  // `for await` is not used, because with a stream that hangs it would never return control.
  for (;;) {
    const piece: Buffer | null = body.read();
    if (piece !== null) {
      yield piece;
      continue;
    }
    if (body.readableEnded) return;
    if (body.errored) throw body.errored;
    if (body.destroyed) throw new Error('the connection was closed');
    const left = call.deadline === undefined ? pauseMs : Math.min(pauseMs, call.deadline - Date.now());
    await nextEvent(body, Math.max(1, left), call.signal);
  }
}

async function nextEvent(body: Readable, withinMs: number, signal: AbortSignal | undefined): Promise<void> {
  const settled = new AbortController();
  const limits = [settled.signal, AbortSignal.timeout(withinMs), ...(signal ? [signal] : [])];
  const options = { signal: AbortSignal.any(limits) };
  try {
    await Promise.race([
      once(body, 'readable', options),
      once(body, 'end', options),
      // `once` rejects when the stream emits an error.
      once(body, 'close', options),
    ]);
  } finally {
    settled.abort();
  }
}

/** Yields the names of all objects with a prefix. */
export async function* listObjects(
  connection: Connection,
  prefix: string,
  call: () => EngineCall,
): AsyncGenerator<string> {
  const { bucket, prefix: own } = connection.settings;
  for (let ContinuationToken: string | undefined; ; ) {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: own + prefix, ContinuationToken });
    const request: Request = { permission: 's3:ListBucket', kind: 'read' };
    const { value } = await connection.send(request, (client, options) => client.send(command, options), call());
    for (const { Key } of value.Contents ?? []) if (Key !== undefined) yield Key.slice(own.length);
    if (!value.IsTruncated) return;
    ContinuationToken = value.NextContinuationToken;
  }
}

export async function objectExists(connection: Connection, name: string, call: EngineCall): Promise<boolean> {
  const key = connection.keyOf(name);
  const command = new HeadObjectCommand({ Bucket: connection.settings.bucket, Key: key });
  const request: Request = { permission: 's3:GetObject', key, kind: 'read' };
  try {
    await connection.send(request, (client, options) => client.send(command, options), call, [404]);
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** Removes an object if it exists. */
export async function removeObject(connection: Connection, name: string, call: EngineCall): Promise<void> {
  const key = connection.keyOf(name);
  const command = new DeleteObjectCommand({ Bucket: connection.settings.bucket, Key: key });
  const request: Request = { permission: 's3:DeleteObject', key, kind: 'write' };
  try {
    await connection.send(request, (client, options) => client.send(command, options), call, ['NoSuchKey']);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
}
