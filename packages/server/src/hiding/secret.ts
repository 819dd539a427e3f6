/**
 * The secret from which numbers and cursors are encrypted for tenants. It is in the store, so that all servers of the
 * store can read each other's cursors and revisions.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type Store, TidemarkError, textOf } from '@tidemark/core';
import { SYSTEM_TENANT } from '../auth/system-tenant.ts';

const RECORD = 'server/cursor-key';
const FIELD = 'key';
const KEY_BYTES = 32;

export class Secret {
  readonly #store: Store;
  #bytes: Promise<Buffer> | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Returns the key of a tenant for a purpose. */
  async keyFor(purpose: string, tenantId: string): Promise<Buffer> {
    this.#bytes ??= read(this.#store).catch((error) => {
      this.#bytes = undefined;
      throw error;
    });
    return createHmac('sha256', await this.#bytes)
      .update(`${purpose} ${tenantId}`)
      .digest();
  }
}

/** The first server of a store creates the secret. If another server was faster, its secret is used. */
async function read(store: Store): Promise<Buffer> {
  const { kv } = store.forTenant(SYSTEM_TENANT);
  const made = { [FIELD]: randomBytes(KEY_BYTES).toString('base64') };
  const there = await kv.get(RECORD);
  const { record } = there ? { record: there } : await kv.swap(RECORD, { expectedRevision: 0, set: made });
  const secret = Buffer.from(textOf(record?.fields[FIELD]) ?? '', 'base64');
  if (secret.length === KEY_BYTES) return secret;
  throw new TidemarkError('STORAGE_ERROR', 'The key of feed cursors is not one that Tidemark wrote');
}
