/**
 * An archive in a bucket. Each pack has its own name and is never replaced, so two archivers cannot overwrite each
 * other's packs. The lists next to the packs are replaced, which is safe because archivers that finish the same pack
 * write the same list.
 */
import type { EngineCall } from '@tidemark/core/engine';
import type { ArchiveTarget } from '@tidemark/runtime';
import { Connection } from './connection.ts';
import { listObjects, objectExists, readObject, removeObject } from './objects.ts';
import { readSettings, type S3Options } from './options.ts';
import { putObject } from './upload.ts';

const LIST = '.manifest.json';

/** An archive target that holds connections to S3. */
export interface S3Target extends ArchiveTarget {
  /** The location of the archive, such as `s3://bucket/prefix`. */
  readonly location: string;
  close(): void;
}

/**
 * Creates an archive target in a bucket, which must exist.
 *
 * @throws `INVALID_ARGUMENT` if the URL or an option is invalid. Calls of the target throw `STORAGE_ERROR`, with a
 *   remedy, if S3 refuses them, `STORAGE_FULL` if a quota is reached, and `UNAVAILABLE`, `OVERLOADED` or
 *   `OUTCOME_UNKNOWN` if S3 does not respond.
 *
 * @example
 * const archiver = createArchiver({ store, target: s3Target('s3://acme-archive/tidemark?region=eu-central-1') });
 * await archiver.archiveRuns({ updatedBefore: '2026-01-01T00:00:00Z' });
 */
export function s3Target(options: S3Options | string): S3Target {
  const connection = new Connection(readSettings(options));
  const unbounded: EngineCall = {};
  return {
    location: connection.location,
    put: (name, content) => putObject(connection, name, content, name.endsWith(LIST) ? 'replace' : 'refuse', unbounded),
    get: (name) => readObject(connection, name, unbounded),
    list: (prefix) => listObjects(connection, prefix, () => unbounded),
    async delete(name) {
      const isThere = await objectExists(connection, name, unbounded);
      if (isThere) await removeObject(connection, name, unbounded);
      return isThere;
    },
    close: () => connection.close(),
  };
}
