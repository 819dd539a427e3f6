/**
 * API keys, which are stored in the system tenant. When a key is revoked, all servers of the store refuse it within
 * half a second.
 */
import { invalidArgument, type KvRecord, type Store, withRetries } from '@tidemark/core';
import { inParts, LruMap } from '@tidemark/core/engine';
import { Audit } from '../audit/audit.ts';
import { type ApiKeyInfo, brokenRecord, fieldsOf, keyOf, type StoredKey } from './key-record.ts';
import { digestOf, keyText, mintKey } from './key-text.ts';
import { isScope, SCOPES, type Scope } from './scopes.ts';
import { SYSTEM_TENANT } from './system-tenant.ts';

const PREFIX = 'api-keys/';
const FRESH_MS = 500;
const MAX_KNOWN = 10_000;
const READ_MS = 2_000;
const WRITE_DEADLINE = '10s';
const MAX_NAME = 200;
/** Number of keys read per store call. */
const READ_AT_ONCE = 1_000;

/** The name, the scopes and the bounds of a key to create. */
export interface NewApiKey {
  /** The purpose of the key, which the operator chooses. */
  name: string;
  scopes: readonly Scope[];
  /** The only tenant that the key may access. An operator key requires an explicit `null`. */
  tenantId: string | null;
  /** The only session of the tenant that the key may access. */
  sessionId?: string;
  /** The key is refused after this time. */
  expiresAt?: Date;
}

/** The user who creates or revokes a key. Recorded in the audit log. */
export interface KeyChange {
  by: string;
}

/** A key that was just created. Its text cannot be read again. */
export interface CreatedApiKey {
  /** The text `id.secret`, to be sent as `Authorization: Bearer …`. */
  key: string;
  info: ApiKeyInfo;
}

interface KnownKey {
  readAt: number;
  stored: Promise<StoredKey | null>;
}

/**
 * Manages the API keys of a store. Every change is recorded in the audit log first.
 *
 * @example
 * const keys = new ApiKeys(store);
 * const { key } = await keys.create({ name: 'worker', tenantId: 'acme', scopes: ['read', 'append'] }, { by: 'ada' });
 * createServer({ store, auth: bearer({ keys }) });
 */
export class ApiKeys {
  readonly #store: Store;
  readonly #system: Store;
  readonly #audit: Audit;
  readonly #known = new LruMap<string, KnownKey>(MAX_KNOWN);
  #wanted = new Map<string, PromiseWithResolvers<StoredKey | null>>();
  readonly #listeners = new Set<(id: string) => void>();

  constructor(store: Store) {
    this.#store = store;
    this.#system = withRetries(store.forTenant(SYSTEM_TENANT), { deadline: WRITE_DEADLINE });
    this.#audit = new Audit(store);
  }

  /**
   * Creates a key and returns its text, which is not stored.
   *
   * @throws `INVALID_ARGUMENT` for an invalid name, scope, tenant, session or expiry.
   */
  async create(wanted: NewApiKey, { by }: KeyChange): Promise<CreatedApiKey> {
    const minted = mintKey();
    const info = this.#checked(minted.id, wanted);
    const entry = { action: 'create key', by, about: { ...info } };
    await this.#audit.around(entry, () => {
      const fields = fieldsOf({ info, digest: digestOf(minted.secret) });
      return this.#system.kv.put(PREFIX + info.id, fields, { requestId: info.id });
    });
    return { key: keyText(minted), info };
  }

  /**
   * Returns all keys in byte order of their ids, including revoked and expired ones.
   *
   * @throws `STORAGE_ERROR` if a record is incomplete.
   */
  async list(): Promise<ApiKeyInfo[]> {
    const keys: ApiKeyInfo[] = [];
    for await (const { key, record } of this.#system.kv.scan(PREFIX))
      keys.push(keyOf(key.slice(PREFIX.length), record).info);
    return keys;
  }

  /** Revokes a key. Returns whether the key exists. Revoking a key again keeps the time of the first revocation. */
  async revoke(id: string, { by }: KeyChange): Promise<boolean> {
    const there = await this.#read(id);
    if (!there) return false;
    if (there.info.revokedAt !== undefined) return true;
    const revokedAt = new Date().toISOString();
    const { written } = await this.#audit.around({ action: 'revoke key', by, about: { id } }, () =>
      this.#system.kv.setField(PREFIX + id, 'revokedAt', revokedAt, { ifExists: true, requestId: `revoke ${id}` }),
    );
    this.#known.delete(id);
    for (const listener of this.#listeners) listener(id);
    return written;
  }

  /**
   * Calls the listener with the id of each key that is revoked through this object. Returns a function that
   * unsubscribes.
   */
  onChange(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Returns a key. Its state is at most half a second old.
   *
   * @throws The error of the store if the key cannot be read.
   */
  find(id: string): Promise<StoredKey | null> {
    const known = this.#known.peek(id);
    if (known && performance.now() - known.readAt < FRESH_MS) return known.stored;
    const stored = this.#lookUp(id);
    const reading = { readAt: performance.now(), stored };
    this.#known.set(id, reading);
    const forget = () => {
      if (this.#known.peek(id) === reading) this.#known.delete(id);
    };
    stored.then((key) => key ?? forget(), forget);
    return stored;
  }

  /** Combines the lookups of one turn of the event loop, so that a flood of unknown ids causes few store calls. */
  #lookUp(id: string): Promise<StoredKey | null> {
    if (this.#wanted.size === 0) setImmediate(() => this.#lookUpWanted());
    const wanted = this.#wanted.get(id) ?? Promise.withResolvers<StoredKey | null>();
    this.#wanted.set(id, wanted);
    return wanted.promise;
  }

  #lookUpWanted(): void {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    this.refresh([...wanted.keys()]).then(
      (found) => {
        for (const [id, { resolve, reject }] of wanted) {
          const stored = found.get(id);
          if (stored === undefined) reject(brokenRecord(id));
          else resolve(stored);
        }
      },
      (error) => {
        for (const { reject } of wanted.values()) reject(error);
      },
    );
  }

  /** Reads keys again, many per store call. Omits incomplete records. */
  async refresh(ids: readonly string[]): Promise<Map<string, StoredKey | null>> {
    const found = new Map<string, StoredKey | null>();
    const { kv } = this.#store.forTenant(SYSTEM_TENANT);
    for (const part of inParts(ids, READ_AT_ONCE)) {
      const readAt = performance.now();
      const records = await kv.getMany(
        part.map((id) => PREFIX + id),
        { timeoutMs: READ_MS },
      );
      for (const [at, record] of records.entries()) this.#take(part[at]!, record, readAt, found);
    }
    return found;
  }

  #take(id: string, record: KvRecord | null, readAt: number, found: Map<string, StoredKey | null>): void {
    try {
      const stored = record && keyOf(id, record);
      found.set(id, stored);
      const known = this.#known.peek(id);
      if (!known || known.readAt > readAt) return;
      // Unknown ids are not cached, because cached guesses would evict real keys.
      if (stored) this.#known.set(id, { readAt, stored: Promise.resolve(stored) });
      else this.#known.delete(id);
    } catch {
      // An incomplete record admits nobody, but it does not prove that its key was revoked.
    }
  }

  async #read(id: string): Promise<StoredKey | null> {
    const record = await this.#store.forTenant(SYSTEM_TENANT).kv.get(PREFIX + id, { timeoutMs: READ_MS });
    return record && keyOf(id, record);
  }

  #checked(id: string, { name, scopes, tenantId, sessionId, expiresAt }: NewApiKey): ApiKeyInfo {
    if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
      throw invalidArgument('name', `1 to ${MAX_NAME} characters`, name);
    if (scopes.length === 0 || !scopes.every(isScope))
      throw invalidArgument('scopes', `some of ${SCOPES.join(', ')}`, scopes.join(' '));
    if (tenantId === SYSTEM_TENANT) throw invalidArgument('tenantId', "not the server's own", tenantId);
    // Checks the id, because `forTenant` throws for invalid ids.
    if (tenantId !== null) this.#store.forTenant(tenantId);
    if (sessionId !== undefined && (tenantId === null || sessionId === ''))
      throw invalidArgument('sessionId', 'a session of the tenant that the key is bound to', sessionId);
    if (expiresAt !== undefined && !(expiresAt.getTime() > Date.now()))
      throw invalidArgument('expiresAt', 'in the future', String(expiresAt));
    return {
      id,
      name,
      tenantId,
      scopes: [...new Set(scopes)],
      ...(sessionId === undefined ? {} : { sessionId }),
      createdAt: new Date().toISOString(),
      ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
    };
  }
}
