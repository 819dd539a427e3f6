/** The neighbours of each kind on each engine. To add one, list it here and in `LACKS`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOwnServer } from '../../scripts/servers/index.ts';
import { BARE_REDIS, BARE_SQLITE } from './bare-others.ts';
import { BARE_POSTGRES } from './bare-postgres.ts';
import { langgraphSaver, langgraphStore } from './checkpoint-contenders.ts';
import { dbosEvents, dbosJobs, dbosPauses, dbosStreams } from './dbos.ts';
import type { EngineName } from './engine-names.ts';
import { emmett, messageDb } from './event-contenders.ts';
import { bullMq, graphileWorker, pgBoss } from './job-contenders.ts';
import { CALLERS, type Contenders } from './kinds.ts';
import { keyv, keyvMemory, unstorage, unstorageMemory } from './kv-contenders.ts';
import { openWorkflowEvents, openWorkflowJobs, openWorkflowPauses } from './openworkflow.ts';
import type { Kind } from './scenarios.ts';

type Openers = { [It in Kind]?: ((url: string) => Promise<Contenders[It]>)[] };

export const NEIGHBOURS: Readonly<Record<EngineName, Openers>> = {
  postgres: {
    events: [emmett, messageDb, dbosEvents, dbosStreams, openWorkflowEvents, BARE_POSTGRES.events],
    checkpoints: [langgraphSaver],
    kv: [(url) => keyv('@keyv/postgres', url), unstorage, BARE_POSTGRES.kv],
    jobs: [pgBoss, graphileWorker, dbosJobs, openWorkflowJobs, BARE_POSTGRES.jobs],
    pauses: [(url) => dbosPauses(url, CALLERS), (url) => openWorkflowPauses(url, CALLERS), BARE_POSTGRES.pauses],
    memory: [langgraphStore, (url) => keyvMemory('@keyv/postgres', url), unstorageMemory, BARE_POSTGRES.memory],
  },
  redis: {
    kv: [(url) => keyv('@keyv/redis', url), unstorage, BARE_REDIS.kv],
    jobs: [bullMq],
    pauses: [BARE_REDIS.pauses],
    memory: [(url) => keyvMemory('@keyv/redis', url), unstorageMemory, BARE_REDIS.memory],
  },
  sqlite: {
    events: [openWorkflowEvents, BARE_SQLITE.events],
    kv: [unstorage, BARE_SQLITE.kv],
    jobs: [openWorkflowJobs],
    pauses: [(url) => openWorkflowPauses(url, CALLERS), BARE_SQLITE.pauses],
    memory: [unstorageMemory, BARE_SQLITE.memory],
  },
};

/** An engine that was started for the benchmark. */
export interface Engine {
  /** For tables: `PostgreSQL 15.18`. */
  title: string;
  /** Returns the URL for a contender: of the same server for all, or of a file of its own. */
  urlFor(contender: number): string;
  stop(): Promise<unknown>;
}

export async function startEngine(name: EngineName): Promise<Engine> {
  if (name === 'sqlite') {
    const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
    return {
      title: `SQLite ${process.versions.sqlite}`,
      urlFor: (contender) => `sqlite:${join(directory, `${contender}.db`)}`,
      stop: async () => rmSync(directory, { recursive: true }),
    };
  }
  const server = await startOwnServer(name);
  const title = `${name === 'postgres' ? 'PostgreSQL' : 'Redis'} ${server.version.split(' ')[0]}`;
  return { title, urlFor: () => server.url, stop: () => server.stop() };
}
