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
  return httpRuns(transport, info, heads);
}

export function kv({ transport, info }: Connection): Store['kv'] {
  return httpKv(transport, info.limits);
}

export function jobs({ transport, info }: Connection): Store['jobs'] {
  return httpJobs(transport, info.limits);
}

export function agents({ transport, info }: Connection): Store['agents'] {
  return httpAgents(transport, info.limits);
}

export function artifacts({ transport, info }: Connection): Store['artifacts'] {
  return httpArtifacts(transport, info.limits);
}

export function admin({ transport, info }: Connection): Store['admin'] {
  return httpAdmin(transport, info.limits);
}
