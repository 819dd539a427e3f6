/** The servers of the other tests: each one starts, speaks its protocol, and leaves nothing behind. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isInstalled, neededServers, offeredUrl, startOwnServer, startServers } from './index.ts';
import { freePorts } from './ports.ts';
import type { RunningServer } from './start.ts';

/** Sends bytes to the server's port and returns the reply up to `until`. */
async function say(url: string, bytes: string | Buffer, until: string): Promise<string> {
  // The host of a DynamoDB store is a region.
  const { hostname, port } = new URL(new URL(url).searchParams.get('endpoint') ?? url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.write(bytes);
  let answer = '';
  for await (const chunk of socket) {
    answer += chunk;
    if (answer.includes(until)) break;
  }
  return answer;
}

/** The expected replies of each server, in its own protocol. */
const SPEAKS = {
  async postgres({ url }: RunningServer) {
    const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
    expect(await say(url, sslRequest, 'N')).toBe('N');
  },
  async redis({ url }: RunningServer) {
    expect(await say(url, 'PING\r\n', '\r\n')).toBe('+PONG\r\n');
    expect(await say(url, 'CONFIG GET appendfsync\r\n', 'always')).toContain('always');
    expect(await say(url, 'CONFIG GET maxmemory-policy\r\n', 'noeviction')).toContain('noeviction');
  },
  async nats({ url, started }: RunningServer) {
    expect(await say(url, 'CONNECT {"verbose":false}\r\nPING\r\n', 'PONG\r\n')).toMatch(/^INFO .*\r\nPONG\r\n$/s);
    const response = await fetch(`http://127.0.0.1:${started?.ports[1]}/jsz`);
    expect(await response.json()).toMatchObject({ config: { store_dir: expect.stringContaining('jetstream') } });
  },
  async dynamodb({ url }: RunningServer) {
    expect(await say(url, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}', '\r\n\r\n')).toMatch(
      /^HTTP\/1.1 4\d\d .*x-amzn-requestid/s,
    );
  },
};

/** Returns false for a zombie, a process that has ended and was not waited for. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const status = `/proc/${pid}/status`;
    return !(existsSync(status) && /^State:\s+Z/m.test(readFileSync(status, 'utf8')));
  } catch {
    return false;
  }
}

describe.each(neededServers())('%s', (name) => {
  it('is offered to every test', async () => {
    const { [name]: server } = await startServers([name]);
    expect(server?.url).toBe(offeredUrl(name));
    expect(server?.version).toMatch(/^(\d+\.\d+|unknown)/);
    expect(server?.started).toBeUndefined();
  });

  it.runIf(isInstalled(name))('starts, speaks its protocol, and is gone after stop()', async () => {
    const server = await startOwnServer(name);
    const { pid, directory } = server.started!;
    try {
      await SPEAKS[name](server);
      expect(isAlive(pid)).toBe(true);
    } finally {
      await server.stop();
    }
    await server.stop();
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(directory)).toBe(false);
    await expect(say(server.url, 'PING\r\n', '\n')).rejects.toThrow('ECONNREFUSED');
  });

  it.runIf(isInstalled(name))('does not outlive a process that is killed', async () => {
    const program = `
      const { startOwnServer } = await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
      const { started } = await startOwnServer('${name}');
      console.log(JSON.stringify(started));
      process.stdin.resume(); // and end with the test if that is killed first
    `;
    const flags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning', '--input-type=module'];
    const parent = spawn(process.execPath, [...flags, '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = await once(parent.stdout, 'data');
    const { pid, directory } = JSON.parse(String(line));
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    for (let tries = 0; tries < 100 && (isAlive(pid) || existsSync(directory)); tries++) await sleep(100);
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(directory)).toBe(false);
  });
});

describe('which servers a run needs', () => {
  afterEach(() => void vi.unstubAllEnvs());

  it('is narrowed by TIDEMARK_TEST_BACKENDS', () => {
    vi.stubEnv('TIDEMARK_TEST_BACKENDS', 'memory, redis');
    expect(neededServers()).toEqual(['redis']);
  });

  it('is not narrowed by a misspelt name', () => {
    vi.stubEnv('TIDEMARK_TEST_BACKENDS', 'memory,postgress');
    expect(() => neededServers()).toThrow(
      'postgress; the backends are memory, sqlite, postgres, redis, nats, dynamodb',
    );
  });

  it('includes a configured server only if it responds', async () => {
    const [port] = await freePorts(1);
    vi.stubEnv('TIDEMARK_TEST_REDIS_URL', `redis://:secret@127.0.0.1:${port}`);
    await expect(startServers(['redis'])).rejects.toThrow(
      `TIDEMARK_TEST_REDIS_URL names 127.0.0.1:${port}, but Redis does not answer there: connect ECONNREFUSED`,
    );
  });
});
