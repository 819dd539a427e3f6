/** The OpenAPI document is valid, complete, and matches the server. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { ERROR_CODES } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '../src/auth/scopes.ts';
import { startServer } from './running.ts';

interface Operation {
  security: object[];
  'x-scope'?: string;
  responses: Record<string, { description: string }>;
}

async function documentOf(url: string): Promise<{ paths: Record<string, Record<string, Operation>> }> {
  return (await fetch(`${url}/openapi.json`)).json() as never;
}

describe('the OpenAPI document', () => {
  it('is valid', async () => {
    const { url } = await startServer();
    const result = await new Validator().validate((await documentOf(url)) as never);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it('has a scope and the problems of every route except the open ones', async () => {
    const { url } = await startServer();
    const { paths } = await documentOf(url);
    const open: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { security, responses, ...operation }] of Object.entries(operations)) {
        if (security.length === 0) open.push(path);
        else expect(SCOPES, `${method} ${path}`).toContain(operation['x-scope']);
        const codes = Object.entries(responses)
          .filter(([status]) => status >= '400')
          .flatMap(([, { description }]) => description.split(':')[0]!.split(', '));
        for (const code of codes) expect(Object.keys(ERROR_CODES)).toContain(code);
      }
    }
    expect(open).toEqual(['/healthz', '/readyz', '/openapi.json', '/errors']);
  });

  it('describes existing routes: each accepts its method and returns 405 for another', async () => {
    const { url } = await startServer();
    const { paths } = await documentOf(url);
    for (const [path, operations] of Object.entries(paths)) {
      const concrete = `${url}${path.replaceAll(/\{\w+\}/g, '1')}`;
      const answer = await fetch(concrete, { method: 'OPTIONS' });
      expect(answer.status, path).toBe(405);
      const allowed = answer.headers.get('allow')!.toLowerCase().split(', ').sort();
      expect(allowed, path).toEqual(Object.keys(operations).sort());
    }
  });

  it('has a page that every problem links to', async () => {
    const { url } = await startServer();
    const answer = await fetch(`${url}/v1/kv/missing`);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const { type, code } = (await answer.json()) as { type: string; code: string };
    expect([type, code]).toEqual(['/errors#NOT_FOUND', 'NOT_FOUND']);
    expect(await (await fetch(new URL(type, url))).text()).toContain('id="NOT_FOUND"');
  });
});
