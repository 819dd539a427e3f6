import { describe, expect, it } from 'vitest';
import type { ArtifactScope } from '../contracts/artifacts.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';
import { checkScope, isLive, isWithin, scopeOf } from './scopes.ts';

const OPERATOR = { tenantId: 'default', confined: false };
const ACME = { tenantId: 'acme', confined: true };

function row(parts: Partial<ArtifactRow>): ArtifactRow {
  const none = {
    scopeTenantId: null,
    userId: null,
    sessionId: null,
    traceId: null,
    mimeType: null,
    filename: null,
    namespace: null,
  };
  return {
    id: 'a',
    sha256: '',
    sizeBytes: 0,
    source: '{}',
    createdAt: 0,
    accessedAt: 0,
    expiresAt: null,
    ...none,
    ...parts,
  };
}

const sees = (scope: ArtifactScope, parts: Partial<ArtifactRow>) => isWithin(row(parts), checkScope(OPERATOR, scope));

describe('scopes (AGT-11)', () => {
  it('requires every given part to match; absent or null parts match anything', () => {
    expect(sees({}, { sessionId: 's' })).toBe(true);
    expect(sees({ sessionId: null }, { sessionId: 's' })).toBe(true);
    expect(sees({ sessionId: 's' }, { sessionId: 's', traceId: 't' })).toBe(true);
    expect(sees({ sessionId: 's', traceId: 'u' }, { sessionId: 's', traceId: 't' })).toBe(false);
  });

  it('are returned as they were set, without absent parts', () => {
    expect(scopeOf(row({}))).toEqual({});
    expect(scopeOf(row({ userId: 'u' }))).toEqual({ userId: 'u' });
    const whole = { tenantId: 't', userId: 'u', sessionId: 's', traceId: 'r' };
    expect(scopeOf(row({ scopeTenantId: 't', userId: 'u', sessionId: 's', traceId: 'r' }))).toEqual(whole);
  });

  it('does not match an unscoped artifact for any given part', () => {
    for (const part of ['tenantId', 'userId', 'sessionId', 'traceId']) expect(sees({ [part]: 'x' }, {})).toBe(false);
  });

  it('confines a view to its tenant and lets the operator name one (GEN-10)', () => {
    expect(checkScope(ACME, {}).owner).toBe('acme');
    expect(checkScope(ACME, { tenantId: 'acme' }).owner).toBe('acme');
    expect(() => checkScope(ACME, { tenantId: 'other' })).toThrow(expect.objectContaining({ code: 'TENANT_MISMATCH' }));
    expect(checkScope(OPERATOR, { tenantId: 'acme' }).owner).toBe('acme');
    expect(checkScope(OPERATOR, undefined).owner).toBe('default');
  });

  it('treats an artifact as expired from the millisecond of its expiry', () => {
    expect(isLive(row({ expiresAt: 100 }), 99)).toBe(true);
    expect(isLive(row({ expiresAt: 100 }), 100)).toBe(false);
  });
});

describe('scopeOf', () => {
  it.each([
    [{}, {}],
    [{ scopeTenantId: 'te' }, { tenantId: 'te' }],
    [{ userId: 'u' }, { userId: 'u' }],
    [{ sessionId: 's' }, { sessionId: 's' }],
    [{ traceId: 'tr' }, { traceId: 'tr' }],
  ])('of %j has no other part', (parts, scope) => {
    expect(Object.entries(scopeOf(row(parts)))).toEqual(Object.entries(scope));
  });
});
