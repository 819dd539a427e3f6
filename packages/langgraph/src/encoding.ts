/** How values are written to records. */
import type { Store } from '@tidemark/core';

export interface Encoding {
  compress: boolean;
  /** The maximum size of a field. */
  fieldBytes: number;
  /** Whether the fields are sealed, so that no value is readable in the engine. Keys and field names never are sealed. */
  sealed: boolean;
}

/** Seals fields if and only if the store has a codec that encrypts. */
export function encodingOf(store: Store, compress = false): Encoding {
  const { limits, encrypts } = store.info;
  return { compress, fieldBytes: limits.fieldBytes, sealed: encrypts };
}
