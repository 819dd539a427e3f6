/** An identity provider with one signing key, for tests of tokens. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { JwtOptions } from '../src/index.ts';
import { newFolder } from './running.ts';

export const ISSUER = 'https://id.test';
export const AUDIENCE = 'tidemark';
export const CLAIMS = { tenant: 'acme', scope: 'openid tidemark:read' };

type Key = GenerateKeyPairResult['publicKey'];

export interface Issuer {
  options: JwtOptions;
  file: string;
  publicKey: Key;
  privateKey: Key;
  sign(claims?: JWTPayload, how?: { header?: object; key?: Key; expires?: string | number }): Promise<string>;
}

/** Creates an identity provider with one key and a key set file. */
export async function newIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const file = join(newFolder(), 'keys.json');
  writeFileSync(file, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }] }));
  const options = { issuer: ISSUER, audience: AUDIENCE, keys: file, algorithms: ['RS256'] };
  const sign: Issuer['sign'] = (claims = {}, { header, key = privateKey, expires = '1m' } = {}) => {
    const payload = { iss: ISSUER, aud: AUDIENCE, sub: 'ada', ...CLAIMS, ...claims };
    const token = new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one', ...header }).setIssuedAt();
    return token.setExpirationTime(expires).sign(key);
  };
  return { options, file, publicKey, privateKey, sign };
}
