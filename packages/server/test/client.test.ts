/**
 * The client when the network fails: which calls are rejected, which have an unknown outcome, and how time limits are
 * sent.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { httpStore, openUrl } from '@tidemark/client';
import { memoryStore, type Store, withQuotas } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent, send, startServer } from './running.ts';

/** A proxy to a server whose responses can be cut off while requests still pass. */
async function cuttableWay(url: string): Promise<{ url: string; cut: () => void }> {
  const { port, hostname } = new URL(url);
  let isCut = false;
  const sockets = new Set<Socket>();
  const proxy: Server = createServer((caller) => {
    const server = connect(Number(port), hostname);
    sockets.add(caller).add(server);
    caller.on('error', () => {});
    server.on('error', () => {});
    caller.pipe(server);
    server.on('data', (chunk) => (isCut ? caller.destroy() : caller.write(chunk)));
    caller.on('close', () => setTimeout(() => server.destroy(), 200));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const address = proxy.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut: () => {
      isCut = true;
    },
  };
}

async function connectTo(url: string): Promise<Store> {
  const client = await httpStore(url);
  onTestFinished(() => client.close());
  return client;
}

describe('the client', () => {
  it('maps a lost response to an unknown outcome for writes and to unavailable for reads (GEN-8)', async () => {
    const { url, store } = await startServer();
    const way = await cuttableWay(url);
    const client = await connectTo(way.url);
    const event = runEvent('r');
    way.cut();
    await expect(client.runs.appendEvent(event)).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      outcome: 'unknown',
      write: { domain: 'runs', method: 'appendEvent', args: [event] },
    });
    await expect(client.runs.headSeq('r')).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    await expect.poll(() => store.runs.headSeq('r')).toBe(1);
    const again = await (await connectTo(url)).runs.appendEvent(event);
    expect(again, 'and its key settles it').toMatchObject({ idempotent: true, runSeq: 1 });
  });

  it('reports that nothing was written if the server cannot be reached', async () => {
    const { url, server, client } = await startServer();
    await server.close();
    await expect(client.runs.appendEvent(runEvent('r'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await client.ping()).toBe(false);
    await expect(httpStore(url)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('stops at its time limit, which also limits the server', async () => {
    const store = memoryStore();
    const limits: (number | undefined)[] = [];
    const kv = {
      get: (_: string, options?: { timeoutMs?: number }) => {
        limits.push(options?.timeoutMs);
        return new Promise<null>(() => {});
      },
    };
    const slow = new Proxy(store, {
      get: (target, name) => {
        if (name === 'kv') return kv;
        const member = target[name as keyof Store];
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    const { client } = await startServer({ store: slow, limits: { closeMs: 100 } });
    const began = performance.now();
    await expect(client.kv.get('k', { timeoutMs: 200 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(limits).toEqual([200]);
  });

  it('does not limit how late a reader begins with a stream', async () => {
    const { client } = await startServer();
    const { id } = await client.artifacts.putText('receipt');
    const chunks = (await client.artifacts.getStream(id, { timeoutMs: 100 }))!;
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(Buffer.concat(await Array.fromAsync(chunks)).toString()).toBe('receipt');
  });

  it('ends on abort: unknown for a write, aborted for a read', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const { url } = await startServer();
    let isSilent = false;
    const fetch: typeof globalThis.fetch = (input, init) =>
      globalThis.fetch(isSilent ? String(input).replace(url, `http://127.0.0.1:${port}`) : input, init);
    const client = await httpStore({ url, fetch });
    isSilent = true;
    const abortSoon = () => ({ signal: AbortSignal.timeout(50) });
    await expect(client.kv.put('k', { a: '1' }, abortSoon())).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await expect(client.kv.get('k', abortSoon())).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('returns the wait of an exceeded rate, as the store does', async () => {
    const limited = withQuotas(memoryStore(), { limits: {}, default: { eventsPerSecond: 1 } });
    const { url, client } = await startServer({ store: limited });
    const overload = async (store: Store) => {
      for (let seq = 0; ; seq++) await store.runs.appendEvent(runEvent('run', `${seq}`));
    };
    const local = await overload(limited).catch((error) => error);
    const remote = await overload(client).catch((error) => error);
    expect(local).toMatchObject({ code: 'QUOTA_EXCEEDED', retryAfterMs: expect.any(Number) });
    expect(remote).toMatchObject({ code: 'QUOTA_EXCEEDED', retryAfterMs: expect.any(Number) });
    expect(remote.retryAfterMs).toBeGreaterThan(0);
    const answer = await send(`${url}/v1/events`, 'POST', runEvent('run', 'next'));
    expect(answer.status).toBe(429);
    const { retryAfterMs } = (await answer.json()) as { retryAfterMs: number };
    expect(Number(answer.headers.get('retry-after'))).toBe(Math.ceil(retryAfterMs / 1_000));
  });

  it('deletes a memory state on a server of version 0.1, which rejects request ids there', async () => {
    const { url, store } = await startServer();
    const problem = {
      ...{ code: 'INVALID_ARGUMENT', retryable: false, outcome: 'rejected' },
      ...{ detail: 'requestId must be one of tenant', field: 'requestId' },
    };
    const as01: typeof fetch = async (target, init) => {
      const isDelete = init?.method === 'DELETE' && String(target).includes('requestId=');
      if (isDelete) return Response.json(problem, { status: 400 });
      if (!String(target).endsWith('/v1/info')) return fetch(target, init);
      const { wireVersion: _, ...info } = (await (await fetch(target, init)).json()) as { wireVersion?: number };
      return Response.json(info);
    };
    const client = await httpStore({ url, fetch: as01 });
    onTestFinished(() => client.close());
    await client.agents.saveMemoryState('key', { a: 1 });
    // An id that the caller chose is not dropped.
    const chosen = client.agents.deleteMemoryState('key', { requestId: 'mine' });
    await expect(chosen).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'requestId' });
    expect(await store.agents.loadMemoryState('key')).toEqual({ a: 1 });
    expect(await client.agents.deleteMemoryState('key')).toBe(true);
    expect(await store.agents.loadMemoryState('key')).toBeNull();
  });

  it('names the URL and the cause when a server cannot be reached', async () => {
    // Port 2, which no server uses: a port that was just closed may be taken by another test.
    await expect(httpStore('http://127.0.0.1:2/base/')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The server at http://127.0.0.1:2/base cannot be reached: ECONNREFUSED; try again',
    });
  });

  it('rejects values that would be lost, and a server with weak durability', async () => {
    const { url } = await startServer({ store: memoryStore() });
    expect(() => openUrl(url, { codec: {} })).toThrow(expect.objectContaining({ field: 'codec' }));
    await expect(openUrl(url, { durability: 'require' })).rejects.toMatchObject({ code: 'DURABILITY_TOO_WEAK' });
    await expect(httpStore('ftp://host')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'url' });
    const client = await connectTo(url);
    const joining = client.runs.appendEvent(runEvent('r'), { transaction: {} });
    await expect(joining).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });
});
