/** Logins, lost connections, and servers that answer otherwise than usual. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createClient } from '@redis/client';
import { isTidemarkError } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { redisStore } from '../src/index.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

async function clientOf(url: string) {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

/** Listens on a free port until the test ends. */
async function listen(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Forwards to a server, and returns its replies in small pieces. */
function inPieces(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return listen((socket) => {
    const server = connect(Number(port), hostname);
    server.on('error', () => socket.destroy());
    socket.on('close', () => server.destroy());
    socket.setNoDelay(true);
    socket.pipe(server);
    server.on('data', (data) => {
      for (let at = 0, size = 1; at < data.length; at += size, size = (size % 97) + 3)
        socket.write(data.subarray(at, at + size));
    });
  });
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => (isTidemarkError(error) ? error.code : error),
  );

describe.skipIf(WITHOUT_REDIS)('a login', () => {
  let server: RunningServer;
  let host: string;
  beforeAll(async () => {
    server = await startOwnServer('redis');
    host = new URL(server.url).host;
    const client = await createClient({ url: server.url }).connect();
    await client.sendCommand(['ACL', 'SETUSER', 'ada', 'on', '>p@ss:w/rd%', '~*', '&*', '+@all']);
    await client.sendCommand(['ACL', 'SETUSER', 'default', 'resetpass', '>secret']);
    client.destroy();
  }, 60_000);
  afterAll(() => server?.stop());

  it.each([
    ['a user and a password', 'ada:p%40ss%3Aw%2Frd%25@'],
    ['only a password', ':secret@'],
  ])('uses %s, also for the connection that listens', async (_, login) => {
    const store = await openStore(`redis://${login}${host}`);
    const watching = new AbortController();
    onTestFinished(() => watching.abort());
    const changes = store.kv.watch('', { signal: watching.signal })[Symbol.asyncIterator]();
    const next = changes.next();
    await store.kv.put('k', { v: 1 });
    expect((await next).value).toMatchObject({ key: 'k' });
  });

  it('is missing: the error says so', async () => {
    await expect(redisStore({ url: `redis://${host}`, prefix: newPrefix() })).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining('NOAUTH'),
    });
  });

  it('is rejected: the error says so', async () => {
    await expect(redisStore({ url: `redis://ada:wrong@${host}`, prefix: newPrefix() })).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining('WRONGPASS'),
    });
  });

  it('may not be allowed to name its connection', async () => {
    const admin = await clientOf(`redis://:secret@${host}`);
    await admin.sendCommand(['ACL', 'SETUSER', 'eve', 'on', '>eve', '~*', '&*', '+@all', '-client|setname']);
    const store = await openStore(`redis://eve:eve@${host}`);
    await store.kv.put('k', { v: 1 });
  });
});

describe.skipIf(WITHOUT_REDIS)('a database', () => {
  it('holds its own data, even after the connection was lost', async () => {
    const server = await startOwnServer('redis');
    onTestFinished(() => server.stop());
    const prefix = newPrefix();
    const [first, third] = [
      await openStore(`${server.url}/0`, { prefix }),
      await openStore(`${server.url}/3`, { prefix }),
    ];
    await third.kv.put('k', { v: 1 });
    expect([await first.kv.get('k'), (await third.kv.get('k'))?.revision]).toEqual([null, 1]);
    const client = await clientOf(`${server.url}/3`);
    expect(await client.dbSize()).toBeGreaterThan(1);
    await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal']);
    await expect.poll(() => codeOf(third.kv.put('k', { v: 2 }))).toBe(null);
    expect([await first.kv.get('k'), (await third.kv.get('k'))?.revision]).toEqual([null, 2]);
  });

  it('that the server does not have is rejected', async () => {
    await expect(redisStore({ url: `${sharedServer()}/9999`, prefix: newPrefix() })).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
    });
  });
});

describe.skipIf(WITHOUT_REDIS)('a connection', () => {
  it('may deliver replies in any pieces', async () => {
    const store = await openStore(await inPieces(sharedServer()));
    const text = 'é\r\n'.repeat(20_000);
    await store.kv.put('k', { text });
    expect(Buffer.from((await store.kv.getField('k', 'text'))!).toString()).toBe(text);
    const keys = Array.from({ length: 200 }, (_, at) => `key-${at}`);
    await Promise.all(keys.map((key) => store.kv.setField(key, 'f', key)));
    const values = await Promise.all(keys.map((key) => store.kv.getField(key, 'f')));
    expect(values.map((value) => Buffer.from(value!).toString())).toEqual(keys);
    for (const key of keys) await store.runs.appendEvent(runEvent('r', key));
    expect((await store.runs.fetchEvents('r')).map(({ idempotencyKey }) => idempotencyKey)).toEqual(keys);
  });

  it('that listens is opened again when it was lost, and changes in between are seen', {
    timeout: 20_000,
  }, async () => {
    const server = await startOwnServer('redis');
    onTestFinished(() => server.stop());
    const [client, prefix] = [await clientOf(server.url), newPrefix()];
    const [store, other] = [await openStore(server.url, { prefix }), await openStore(server.url, { prefix })];
    const watching = new AbortController();
    onTestFinished(() => watching.abort());
    const changes = store.kv.watch('', { signal: watching.signal })[Symbol.asyncIterator]();
    const keyAfter = async (put: () => Promise<unknown>) => {
      const next = changes.next();
      await put();
      return ((await next).value as { key: string }).key;
    };
    expect(await keyAfter(() => other.kv.put('a', { v: 1 }))).toBe('a');
    expect(Number(await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'pubsub']))).toBeGreaterThan(0);
    expect(await keyAfter(() => other.kv.put('b', { v: 1 }))).toBe('b');
    const channel = `${prefix}:hints`;
    await expect
      .poll(() => client.sendCommand(['PUBSUB', 'NUMSUB', channel]), { timeout: 10_000 })
      .toEqual([channel, 1]);
    expect(await keyAfter(() => other.kv.put('c', { v: 1 }))).toBe('c');
  });
});

describe.skipIf(WITHOUT_REDIS)('a server that rejects for now', () => {
  it('is busy with a script: nothing is written, and calls succeed when the script has ended', async () => {
    const server = await startOwnServer('redis');
    onTestFinished(() => server.stop());
    const store = await openStore(server.url);
    await store.kv.put('k', { v: 1 });
    const [client, busy] = [await clientOf(server.url), await clientOf(server.url)];
    await client.configSet('busy-reply-threshold', '50');
    busy.eval('while true do end').catch(() => {});
    await expect.poll(() => codeOf(client.ping())).toMatchObject({ message: expect.stringContaining('BUSY') });
    await expect(store.kv.put('k', { v: 2 })).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'rejected' });
    await expect(store.kv.get('k')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await client.sendCommand(['SCRIPT', 'KILL']);
    await expect.poll(() => codeOf(store.kv.put('k', { v: 3 }))).toBe(null);
    expect((await store.kv.get('k'))?.revision).toBe(2);
  });

  it('is a replica that has lost its master and serves no old data', async () => {
    const server = await startOwnServer('redis');
    onTestFinished(() => server.stop());
    const store = await openStore(server.url);
    await store.kv.put('k', { v: 1 });
    const client = await clientOf(server.url);
    await client.configSet('replica-serve-stale-data', 'no');
    await client.sendCommand(['REPLICAOF', '127.0.0.1', '1']);
    await expect(store.kv.get('k')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await codeOf(store.kv.put('k', { v: 2 }))).toBe('UNAVAILABLE');
    await client.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    await expect.poll(() => codeOf(store.kv.put('k', { v: 3 }))).toBe(null);
  });
});

describe('something that is not Redis', () => {
  const open = (url: string) => redisStore({ url, prefix: newPrefix(), connectionTimeoutMs: 300 });
  const REFUSED = { code: 'UNAVAILABLE', outcome: 'rejected' };

  it('responds over HTTP', async () => {
    const server = createHttpServer((_, response) => response.end('hello'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    await expect(open(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`)).rejects.toMatchObject(REFUSED);
  });

  it('sends more replies than it was asked for', async () => {
    const url = await listen((socket) => socket.on('data', () => socket.write('+OK\r\n'.repeat(9))));
    await expect(open(url)).rejects.toMatchObject(REFUSED);
  });

  it('accepts connections and sends nothing', async () => {
    const url = await listen(() => {});
    await expect(open(url)).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining('within 300 ms') });
  });

  it('closes every connection', async () => {
    await expect(open(await listen((socket) => socket.end()))).rejects.toMatchObject(REFUSED);
  });

  it('does not listen: the error says why', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    for (const host of ['127.0.0.1', 'localhost'])
      await expect(open(`redis://${host}:${port}`)).rejects.toMatchObject({
        ...REFUSED,
        message: expect.stringContaining('ECONNREFUSED'),
      });
  });
});
