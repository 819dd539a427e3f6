/**
 * Copies the files of large artifacts that a copied database refers to. Files may be erased after the database was
 * copied. References that the store has removed since are removed from the copy too, so that every reference in the
 * copy has its bytes.
 */
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { blobFile, isMissing } from './blobs.ts';
import { DatabaseSync } from './node-sqlite.ts';

/** A file that is erased and stored again during the copy may be missing more than once. */
const MAX_TRIES = 5;

const LARGE = "SELECT tenant_id, sha256 FROM artifact_blobs WHERE place = 'directory'";
const REFERENCED = 'SELECT 1 FROM artifacts WHERE tenant_id = ? AND sha256 = ? LIMIT 1';

interface Blob {
  tenant_id: string;
  sha256: string;
}

/** A database and its artifact directory. */
interface StoreFiles {
  database: string;
  directory: string;
}

export async function copyArtifacts(from: StoreFiles, to: StoreFiles): Promise<void> {
  const [source, copy] = [new DatabaseSync(from.database, { readOnly: true }), new DatabaseSync(to.database)];
  try {
    const isReferenced = ({ tenant_id, sha256 }: Blob) =>
      source.prepare(REFERENCED).get(tenant_id, sha256) !== undefined;
    for (const blob of copy.prepare(LARGE).all() as unknown as Blob[]) {
      const files = [from, to].map(({ directory }) => blobFile(directory, blob.tenant_id, blob.sha256));
      if (!(await copyIfReferenced(files[0]!, files[1]!, () => isReferenced(blob)))) drop(copy, blob);
    }
  } finally {
    source.close();
    copy.close();
  }
}

/**
 * Copies a file. Returns false when it is missing and no longer referenced. If a missing file is still referenced, it
 * was already missing in the store.
 */
async function copyIfReferenced(from: string, to: string, isReferenced: () => boolean): Promise<boolean> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    try {
      await copyFile(from, to);
      // A copy inherits the permissions of the original, which may be too open if an older version created it.
      await chmod(to, 0o600);
      return true;
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (!isReferenced()) return false;
    }
  }
  return true;
}

function drop(copy: DatabaseSync, { tenant_id, sha256 }: Blob): void {
  for (const table of ['artifacts', 'artifact_blobs'])
    copy.prepare(`DELETE FROM ${table} WHERE tenant_id = ? AND sha256 = ?`).run(tenant_id, sha256);
}
