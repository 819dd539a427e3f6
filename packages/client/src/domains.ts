/** The domains of a store over HTTP, one function each, so that bundlers include only the domains that are used. */
import type { Store } from '@tidemark/core/portable';
import { httpAdmin } from './admin.ts';
import { httpAgents } from './agents/index.ts';
import { httpArtifacts } from './artifacts.ts';
import type { Connection } from './connection.ts';
import { httpJobs } from './jobs.ts';
import { httpKv } from './kv.ts';
import { httpRuns } from './runs.ts';

export function runs({ transport, info, heads }: Connection): Store['runs'] {
  return httpRuns(transport, info.tenantId, heads);
}

export function kv({ transport }: Connection): Store['kv'] {
  return httpKv(transport);
}

export function jobs({ transport }: Connection): Store['jobs'] {
  return httpJobs(transport);
}

export function agents({ transport }: Connection): Store['agents'] {
  return httpAgents(transport);
}

export function artifacts({ transport }: Connection): Store['artifacts'] {
  return httpArtifacts(transport);
}

export function admin({ transport }: Connection): Store['admin'] {
  return httpAdmin(transport);
}
