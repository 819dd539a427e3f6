/**
 * Eight processes open one empty database at the same moment, again and again, on every engine. All must open it and
 * write, whichever of them creates the tables or streams. `--rounds 20`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SOURCE_FLAGS } from '../scripts/processes.ts';
import { startOwnServer } from '../scripts/servers/index.ts';
import { startNatsCluster } from '../scripts/servers/nats-cluster.ts';
import { startRedisCluster } from '../scripts/servers/redis-cluster.ts';
import type { Opened } from './opening-child.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });

const PROCESSES = 8;

/** Returns the URL of a database on an engine that was never opened. */
type NewUrl = (name: string) => string;

/** Sends every process the same URL at once, and returns the problem of each that failed. */
async function openAtOnce(children: readonly ChildProcess[], url: string): Promise<string[]> {
  const answers = children.map((child) => once(child, 'message') as Promise<[Opened]>);
  for (const child of children) child.send(url);
  const opened = (await Promise.all(answers)).map(([answer]) => answer);
  const problems = opened.flatMap(({ error }) => error ?? []);
  const most = Math.max(...opened.map(({ events }) => events));
  if (problems.length === 0 && most !== PROCESSES) problems.push(`${most} events of ${PROCESSES} were stored`);
  return problems;
}

async function tryEngine(engine: string, newUrl: NewUrl, children: readonly ChildProcess[]): Promise<boolean> {
  const problems: string[] = [];
  for (let round = 0; round < Number(values.rounds); round++)
    problems.push(...(await openAtOnce(children, newUrl(`opening_${round}`))));
  for (const problem of problems) console.error(`${engine}: ${problem}`);
  console.log(`opening: ${engine}: ${values.rounds} rounds of ${PROCESSES} processes, ${problems.length} problems`);
  return problems.length === 0;
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-opening-'));
const postgres = await startOwnServer('postgres');
const redis = await startOwnServer('redis');
const redisCluster = await startRedisCluster();
const nats = await startOwnServer('nats');
const natsCluster = await startNatsCluster('installed');
const dynamodb = await startOwnServer('dynamodb');
const children = Array.from({ length: PROCESSES }, () =>
  fork(join(import.meta.dirname, 'opening-child.ts'), { execArgv: [...SOURCE_FLAGS] }),
);
const ENGINES: Record<string, NewUrl> = {
  sqlite: (name) => `sqlite:${join(folder, name)}`,
  postgres: (name) => `${postgres.url}?schema=${name}`,
  redis: (name) => `${redis.url}?prefix=${name}`,
  'redis cluster': (name) => `${redisCluster.url}?prefix=${name}`,
  nats: (name) => `${nats.url}?prefix=${name}`,
  dynamodb: (name) => `${dynamodb.url}&prefix=${name}`,
  'nats cluster': (name) => `${natsCluster.url}?prefix=${name}`,
};
try {
  for (const [engine, newUrl] of Object.entries(ENGINES))
    if (!(await tryEngine(engine, newUrl, children))) process.exitCode = 1;
} finally {
  for (const child of children) child.kill();
  await Promise.all([postgres, redis, redisCluster, nats, natsCluster, dynamodb].map((server) => server.stop()));
  rmSync(folder, { recursive: true });
}
