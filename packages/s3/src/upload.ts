/**
 * Uploads of new objects: an object that is not larger than a part takes one request. A larger object is uploaded in
 * parts, a few at a time. Every upload carries its own id, by which a writer recognises its object after a lost
 * response.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { type Connection, Refused, type Request } from './connection.ts';

/** The number of parts that are in memory and being uploaded at a time. */
const PARTS_AT_ONCE = 3;
const WRITE_ID = 'tidemark-write';
/** How long to try to abort an upload whose call has ended. */
const ABORT_WITHIN_MS = 10_000;

/** How an upload treats an existing object with its name. */
export type IfExists = 'refuse' | 'replace';

/**
 * Stores an object completely or not at all. With `refuse`, fails with `CONFLICT` if an object with this name exists.
 */
export async function putObject(
  connection: Connection,
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  ifExists: IfExists,
  call: EngineCall,
): Promise<void> {
  const upload = new Upload(connection, connection.keyOf(name), ifExists, call);
  const parts = partsOf(chunks, connection.settings.partBytes)[Symbol.asyncIterator]();
  try {
    const first = await parts.next();
    const second = first.done ? first : await parts.next();
    if (second.done) return await upload.whole(first.done ? Buffer.alloc(0) : first.value);
    await upload.inParts([first.value as Buffer, second.value], parts);
  } finally {
    await parts.return?.(undefined);
  }
}

/** Aborts all unfinished uploads of a key except one. */
export async function abortUploads(
  connection: Connection,
  key: string,
  call: EngineCall,
  except?: string,
): Promise<void> {
  const list = new ListMultipartUploadsCommand({ Bucket: connection.settings.bucket, Prefix: key });
  const request: Request = { permission: 's3:ListBucketMultipartUploads', key, kind: 'read' };
  const { value } = await connection.send(request, (client, options) => client.send(list, options), call);
  for (const { Key, UploadId } of value.Uploads ?? [])
    if (Key === key && UploadId !== undefined && UploadId !== except)
      await abortUpload(connection, key, UploadId, call);
}

async function abortUpload(connection: Connection, key: string, UploadId: string, call: EngineCall): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket: connection.settings.bucket, Key: key, UploadId });
  const request: Request = { permission: 's3:AbortMultipartUpload', key, kind: 'write' };
  await connection
    .send(request, (client, options) => client.send(command, options), call, ['NoSuchUpload', 404])
    .catch(unlessRefused);
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
}

class Upload {
  readonly #connection: Connection;
  readonly #key: string;
  readonly #call: EngineCall;
  readonly #ifExists: IfExists;
  readonly #writeId = randomUUID();

  constructor(connection: Connection, key: string, ifExists: IfExists, call: EngineCall) {
    this.#connection = connection;
    this.#key = key;
    this.#ifExists = ifExists;
    this.#call = call;
  }

  async whole(body: Buffer): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#target,
      ...this.#properties,
      ...this.#condition,
      Body: body,
      ContentMD5: md5(body),
    });
    try {
      await this.#connection.send(
        this.#request('s3:PutObject'),
        (client, options) => client.send(command, options),
        this.#call,
        [412],
      );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // An earlier attempt whose response was lost may have created the object.
      if (!error.mayHaveWorked || !(await this.#isOurs())) throw this.#exists();
    }
  }

  async inParts(first: readonly Buffer[], rest: AsyncIterator<Buffer>): Promise<void> {
    const uploadId = await this.#begin();
    let isCompleting = false;
    try {
      const parts = await this.#sendParts(uploadId, first, rest);
      isCompleting = true;
      await this.#complete(uploadId, parts);
    } catch (error) {
      const isUnknown = isCompleting && (error as { code?: string }).code === 'OUTCOME_UNKNOWN';
      // If this fails, the parts stay until the object is removed or a lifecycle rule of the bucket removes them.
      if (!isUnknown) await abortUpload(this.#connection, this.#key, uploadId, lastCall()).catch(() => {});
      // Without the completing request, the parts do not form an object.
      throw isCompleting ? error : withoutDoubt(error);
    }
  }

  async #begin(): Promise<string> {
    const { attempts, value } = await this.#connection
      .send(
        this.#request('s3:PutObject'),
        (client, options) =>
          client.send(new CreateMultipartUploadCommand({ ...this.#target, ...this.#properties }), options),
        this.#call,
      )
      .catch((error) => Promise.reject(withoutDoubt(error)));
    const uploadId = value.UploadId!;
    // An attempt whose response was lost may have left an upload without parts. No other caller uploads to this name,
    // because the name must be new.
    if (attempts > 1 && this.#ifExists === 'refuse')
      await abortUploads(this.#connection, this.#key, lastCall(), uploadId).catch(() => {});
    return uploadId;
  }

  async #sendParts(uploadId: string, first: readonly Buffer[], rest: AsyncIterator<Buffer>): Promise<CompletedPart[]> {
    const done: CompletedPart[] = [];
    const underWay = new Set<Promise<void>>();
    let failure: { error: unknown } | undefined;
    const send = async (PartNumber: number, body: Buffer) => {
      try {
        done[PartNumber - 1] = await this.#sendPart(uploadId, PartNumber, body);
      } catch (error) {
        failure ??= { error };
      }
    };
    const start = (body: Buffer) => {
      const sending = send(done.push({}), body).finally(() => underWay.delete(sending));
      underWay.add(sending);
    };
    try {
      for await (const body of continued(first, rest)) {
        if (failure) break;
        start(body);
        if (underWay.size >= PARTS_AT_ONCE) await Promise.race(underWay);
      }
    } finally {
      await Promise.all(underWay);
    }
    if (failure) throw failure.error;
    return done;
  }

  async #sendPart(UploadId: string, PartNumber: number, body: Buffer): Promise<CompletedPart> {
    const command = () =>
      new UploadPartCommand({ ...this.#target, UploadId, PartNumber, Body: body, ContentMD5: md5(body) });
    const { value } = await this.#connection.send(
      this.#request('s3:PutObject'),
      (client, options) => client.send(command(), options),
      this.#call,
    );
    return { PartNumber, ETag: value.ETag };
  }

  async #complete(UploadId: string, Parts: CompletedPart[]): Promise<void> {
    const command = new CompleteMultipartUploadCommand({
      ...this.#target,
      ...this.#condition,
      UploadId,
      MultipartUpload: { Parts },
    });
    try {
      await this.#connection.send(
        this.#request('s3:PutObject'),
        (client, options) => client.send(command, options),
        this.#call,
        ['NoSuchUpload', 412],
      );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.mayHaveWorked && (await this.#isOurs())) return;
      if (error.failure.status === 412) throw this.#exists();
      const message = `The upload of s3://${this.#target.Bucket}/${this.#key} was aborted by someone else`;
      throw new TidemarkError('UNAVAILABLE', message, { cause: error });
    }
  }

  /** Whether this upload created the object that now has its name. */
  async #isOurs(): Promise<boolean> {
    const request: Request = { permission: 's3:GetObject', key: this.#key, kind: 'read' };
    const command = new HeadObjectCommand(this.#target);
    try {
      const { value } = await this.#connection.send(
        request,
        (client, options) => client.send(command, options),
        this.#call,
        [404],
      );
      return value.Metadata?.[WRITE_ID] === this.#writeId;
    } catch (error) {
      if (error instanceof Refused) return false;
      throw new TidemarkError('OUTCOME_UNKNOWN', `The object s3://${this.#target.Bucket}/${this.#key} may be stored`, {
        cause: error,
      });
    }
  }

  get #target(): { Bucket: string; Key: string } {
    return { Bucket: this.#connection.settings.bucket, Key: this.#key };
  }

  get #properties() {
    const { encryption, kmsKeyId, storageClass } = this.#connection.settings;
    return {
      Metadata: { [WRITE_ID]: this.#writeId },
      ContentType: 'application/octet-stream',
      ...(encryption === undefined ? {} : { ServerSideEncryption: encryption }),
      ...(kmsKeyId === undefined ? {} : { SSEKMSKeyId: kmsKeyId }),
      ...(storageClass === undefined ? {} : { StorageClass: storageClass as 'STANDARD' }),
    };
  }

  get #condition(): { IfNoneMatch?: '*' } {
    return this.#ifExists === 'refuse' ? { IfNoneMatch: '*' } : {};
  }

  #request(permission: string): Request {
    return { permission, key: this.#key, kind: 'write' };
  }

  #exists(): TidemarkError {
    const message = `There is already an object s3://${this.#target.Bucket}/${this.#key}; it was not replaced`;
    return new TidemarkError('CONFLICT', message);
  }
}

/** Returns the error with a statement that nothing was stored. Only for steps that cannot leave an object behind. */
function withoutDoubt(error: unknown): unknown {
  const { code, message, cause } = error as TidemarkError;
  return code === 'OUTCOME_UNKNOWN' ? new TidemarkError('UNAVAILABLE', message, { cause }) : error;
}

/** Returns the time limit of a cleanup, which may run after the call itself has ended. */
function lastCall(): EngineCall {
  return { deadline: Date.now() + ABORT_WITHIN_MS };
}

/** Joins chunks into parts of one size. The last part may be smaller. */
async function* partsOf(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer, void, undefined> {
  let pieces: Uint8Array[] = [];
  let filled = 0;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      // Each chunk is copied once, into the part, because sources may reuse their buffers.
      const piece = chunk.subarray(from, from + size - filled);
      pieces.push(new Uint8Array(piece));
      filled += piece.length;
      from += piece.length;
      if (filled < size) continue;
      yield Buffer.concat(pieces, filled);
      [pieces, filled] = [[], 0];
    }
  }
  if (filled > 0) yield Buffer.concat(pieces, filled);
}

async function* continued(first: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

function md5(body: Buffer): string {
  return createHash('md5').update(body).digest('base64');
}
