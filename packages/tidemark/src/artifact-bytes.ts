/** Keeps the bytes of artifacts outside the engine, in the byte store that the options of `open` name. */
import { type ArtifactRetention, invalidArgument, type Store, type TidemarkError } from '@tidemark/core';
import { type ByteStore, missingPackage, shownUrl, withArtifactBytes } from '@tidemark/core/engine';

/** The limits of artifacts, and the location of their bytes. */
export interface ArtifactOptions extends Partial<ArtifactRetention> {
  /** Where the bytes of new artifacts are stored: `s3://bucket/prefix`, or a byte store. Default: in the engine. */
  bytes?: string | ByteStore;
}

/** Splits the option `artifacts` into the limits, which the engine uses, and the location of the bytes. */
export function splitArtifacts(artifacts: string | ArtifactOptions | undefined): {
  limits: Partial<ArtifactRetention> | undefined;
  bytes: string | ByteStore | undefined;
} {
  if (typeof artifacts === 'string') return { limits: undefined, bytes: artifacts };
  const { bytes, ...limits } = artifacts ?? {};
  return { limits: artifacts && limits, bytes };
}

/** Returns the store with the bytes of its artifacts in a byte store. Closes both stores if that fails. */
export async function keepBytesIn(bytes: string | ByteStore, open: () => Promise<Store>): Promise<Store> {
  const byteStore = typeof bytes === 'string' ? await openBytes(bytes) : bytes;
  let store: Store | undefined;
  try {
    store = await open();
    const composed = withArtifactBytes(store, byteStore);
    if (composed) return composed;
    throw notOverHttp();
  } catch (error) {
    await Promise.allSettled([store?.close(), byteStore.close()]);
    throw error;
  }
}

export function notOverHttp(): TidemarkError {
  return invalidArgument('artifacts', 'set where the server opens its store, not for a store over HTTP');
}

async function openBytes(url: string): Promise<ByteStore> {
  if (!url.startsWith('s3:')) throw invalidArgument('artifacts', 'a URL that starts with s3:', shownUrl(url));
  return (await loadS3()).s3Bytes(url);
}

// The import is literal and directly inside its own `try`, like the imports of the drivers.
async function loadS3() {
  try {
    return await import('@tidemark/s3');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/s3', 's3:');
  }
}
