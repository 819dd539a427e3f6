/** `slimStore`: the domains that were chosen, with the same rules as in the whole client. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpStore } from '@tidemark/client';
import { agents, artifacts, kv, runs, slimStore } from '@tidemark/client/slim';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent, startServer } from './running.ts';

const CHOSEN = { runs, kv, agents, artifacts };

async function open() {
  const { url, store } = await startServer();
  const slim = await slimStore(url, CHOSEN);
  onTestFinished(() => slim.close());
  return { url, store, slim };
}

describe('a slim store', () => {
  it('works in each of its domains and has no others', async () => {
    const { store, slim } = await open();
    await slim.runs.handle('order-42').append('RunStarted', { by: 'ada' });
    await slim.kv.put('user:1', { name: 'Ada' });
    await slim.agents.saveMemoryState('chat', { turns: 1 });
    const { id } = await slim.artifacts.putText('receipt');

    expect(await store.runs.headSeq('order-42')).toBe(1);
    expect(Buffer.from((await store.kv.get('user:1'))!.fields.name!).toString()).toBe('Ada');
    expect(await store.agents.loadMemoryState('chat')).toEqual({ turns: 1 });
    expect(await store.artifacts.exists(id)).toBe(true);
    expect(Object.keys(slim).sort()).toEqual(
      ['agents', 'artifacts', 'close', 'forTenant', 'info', 'kv', 'ping', 'runs'].sort(),
    );
  });

  it('describes the store as the whole client does', async () => {
    const { url, slim } = await open();
    const whole = await httpStore(url);
    onTestFinished(() => whole.close());
    expect(slim.info).toEqual(whole.info);
    expect(await slim.ping()).toBe(true);
  });

  it('confines the view of a tenant', async () => {
    const { store, slim } = await open();
    const acme = slim.forTenant('acme');
    await acme.kv.put('k', { a: '1' });
    expect(await store.kv.get('k')).toBeNull();
    expect(await store.forTenant('acme').kv.get('k')).not.toBeNull();
    expect(() => acme.forTenant('other')).toThrow(expect.objectContaining({ code: 'TENANT_MISMATCH' }));
  });

  it('throws the errors of the server with their details', async () => {
    const { slim } = await open();
    await slim.runs.appendEvent(runEvent('r'));
    await expect(slim.runs.appendEvent(runEvent('r'), { expectedSeq: 7 })).rejects.toMatchObject({
      ...{ code: 'SEQ_CONFLICT', retryable: false, outcome: 'rejected', current: 1 },
    });
  });

  it('rejects calls after close', async () => {
    const { slim } = await open();
    await slim.close();
    await expect(slim.kv.get('k')).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});

describe('an error of a newer server', () => {
  /** A server that answers everything except `GET /v1/info` with one problem. */
  async function refusing(problem: object): Promise<string> {
    const { url } = await startServer();
    const info = await (await fetch(`${url}/v1/info`)).text();
    const server = createServer((request, response) => {
      if (request.url === '/v1/info') response.end(info);
      else response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('keeps a code that this version does not know', async () => {
    const url = await refusing({ code: 'TOO_NEW', detail: 'Later', retryable: false, outcome: 'rejected' });
    const slim = await slimStore(url, { kv });
    await expect(slim.kv.put('k', { a: '1' })).rejects.toMatchObject({
      ...{ code: 'TOO_NEW', message: 'Later', retryable: false, outcome: 'rejected' },
    });
  });

  it('is an unknown outcome that carries the write, if its unknown code leaves the outcome open', async () => {
    const url = await refusing({ code: 'TOO_NEW', detail: 'Later', retryable: true, outcome: 'unknown' });
    const slim = await slimStore(url, { kv });
    await expect(slim.kv.put('k', { a: '1' }, { requestId: 'q1' })).rejects.toMatchObject({
      ...{ code: 'OUTCOME_UNKNOWN', outcome: 'unknown', retryable: true },
      write: { domain: 'kv', method: 'put', args: ['k', { a: '1' }, { requestId: 'q1' }] },
    });
  });
});
