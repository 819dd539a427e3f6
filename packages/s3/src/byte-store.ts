/** The bytes of artifacts as objects in a bucket. */
import { GetBucketVersioningCommand, GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { DoctorFinding } from '@tidemark/core';
import type { ByteStore, DownloadHeaders, EngineCall } from '@tidemark/core/engine';
import { Connection } from './connection.ts';
import { readObject, removeObject } from './objects.ts';
import { readSettings, type S3Options } from './options.ts';
import { abortUploads, putObject } from './upload.ts';

/**
 * Creates a byte store in a bucket, which must exist. Pass its URL as `artifacts` to `open`, or the byte store itself to
 * `withArtifactBytes`.
 *
 * @throws `INVALID_ARGUMENT` if the URL or an option is invalid.
 *
 * @example
 * const store = await open('postgres://db/app', { artifacts: 's3://acme-artifacts/app' });
 */
export function s3Bytes(options: S3Options | string): ByteStore {
  return new S3Bytes(new Connection(readSettings(options)));
}

class S3Bytes implements ByteStore {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get location(): string {
    return this.#connection.location;
  }

  put(name: string, chunks: AsyncIterable<Uint8Array>, call: EngineCall): Promise<void> {
    return putObject(this.#connection, name, chunks, 'refuse', call);
  }

  get(name: string, start: number, end: number, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null> {
    return readObject(this.#connection, name, call, { start, end });
  }

  async remove(name: string, call: EngineCall): Promise<void> {
    await abortUploads(this.#connection, this.#connection.keyOf(name), call);
    await removeObject(this.#connection, name, call);
  }

  downloadUrl(name: string, { filename, mimeType }: DownloadHeaders, expiresInMs: number): Promise<string> {
    const command = new GetObjectCommand({
      Bucket: this.#connection.settings.bucket,
      Key: this.#connection.keyOf(name),
      ResponseContentDisposition: `attachment${filename === null ? '' : `; filename*=UTF-8''${encoded(filename)}`}`,
      ResponseContentType: mimeType ?? 'application/octet-stream',
    });
    return getSignedUrl(this.#connection.client, command, { expiresIn: Math.max(1, Math.round(expiresInMs / 1_000)) });
  }

  async examine(call: EngineCall): Promise<DoctorFinding[]> {
    return [await this.#reach(call), await this.#versions(call)];
  }

  async #reach(call: EngineCall): Promise<DoctorFinding> {
    const { bucket, prefix } = this.#connection.settings;
    const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 });
    const check = 's3: bucket';
    try {
      await this.#connection.send(
        { permission: 's3:ListBucket', kind: 'read' },
        (client, options) => client.send(list, options),
        call,
      );
      return { check, status: 'ok', message: `The bytes of artifacts are in ${this.location}` };
    } catch (error) {
      const fix = 'Follow the message; until then artifacts can be neither stored nor read';
      return { check, status: 'fail', message: (error as Error).message, fix };
    }
  }

  /** Reports whether the bucket keeps old versions, because it would then also keep the bytes of removed artifacts. */
  async #versions(call: EngineCall): Promise<DoctorFinding> {
    const { bucket } = this.#connection.settings;
    const command = new GetBucketVersioningCommand({ Bucket: bucket });
    const check = 's3: versions';
    try {
      const { value } = await this.#connection.send(
        { permission: 's3:GetBucketVersioning', kind: 'read' },
        (client, options) => client.send(command, options),
        call,
      );
      if (value.Status !== 'Enabled') return { check, status: 'ok', message: 'Removed objects leave no old versions' };
      const message = `The bucket ${bucket} keeps old versions, so an erasure removes bytes only when those expire`;
      const fix = 'Add a lifecycle rule with NoncurrentVersionExpiration, or use a bucket without versions';
      return { check, status: 'warn', message, fix };
    } catch (error) {
      const fix = 'Allow s3:GetBucketVersioning, or check the bucket in the console';
      return { check, status: 'unknown', message: (error as Error).message, fix };
    }
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}

/** Encodes a file name for a header, as RFC 5987 requires. */
function encoded(filename: string): string {
  return encodeURIComponent(filename).replace(/['()*]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`);
}
