/** An API key as stored: a record of text fields and the digest of the secret. */
import { type KvRecord, type KvValue, TidemarkError, textOf } from '@tidemark/core';
import { isScope, type Scope } from './scopes.ts';

/** An API key without its secret. */
export interface ApiKeyInfo {
  id: string;
  /** The purpose of the key, which the operator chooses. */
  name: string;
  /** The only tenant that the key may access; `null` for an operator key. */
  tenantId: string | null;
  scopes: readonly Scope[];
  /** The only session of the tenant that the key may access. */
  sessionId?: string;
  /** RFC 3339, like the times below. */
  createdAt: string;
  expiresAt?: string;
  revokedAt?: string;
}

export interface StoredKey {
  info: ApiKeyInfo;
  digest: Uint8Array;
}

export function fieldsOf({ info, digest }: StoredKey): Record<string, KvValue> {
  const { name, tenantId, scopes, sessionId, createdAt, expiresAt } = info;
  return {
    digest,
    name,
    scopes: scopes.join(' '),
    createdAt,
    ...(tenantId === null ? {} : { tenantId }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/**
 * Parses a record. Throws if the record is incomplete, because the missing field might be the tenant that limits the
 * key.
 */
export function keyOf(id: string, { fields }: KvRecord): StoredKey {
  const text = (name: string) => textOf(fields[name]) ?? undefined;
  const [name, createdAt, scopes] = [text('name'), text('createdAt'), text('scopes')?.split(' ')];
  const { digest } = fields;
  if (name === undefined || createdAt === undefined || !digest || !scopes?.every(isScope)) throw brokenRecord(id);
  const info: ApiKeyInfo = { id, name, tenantId: text('tenantId') ?? null, scopes, createdAt };
  for (const field of ['sessionId', 'expiresAt', 'revokedAt'] as const) {
    const value = text(field);
    if (value !== undefined) info[field] = value;
  }
  return { info, digest };
}

export function brokenRecord(id: string): TidemarkError {
  return new TidemarkError('STORAGE_ERROR', `The record of the key ${id} is not one that Tidemark wrote`);
}
