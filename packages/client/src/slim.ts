/** `slimStore` opens a store over HTTP with selected domains only, for pages that must load fast. */
import type { Store, StoreDomain } from '@tidemark/core/portable';
import { type Connection, connect, storeOf } from './connection.ts';
import * as domains from './domains.ts';
import type { ConnectionOptions } from './options.ts';

export type { ConnectionOptions } from './options.ts';

/** A domain to include in a slim store: one of `runs`, `kv`, `jobs`, `agents`, `artifacts` and `admin`. */
export type SlimDomain<Name extends StoreDomain> = (connection: never) => Store[Name];

/** The run domain, for `slimStore`. */
export const runs: SlimDomain<'runs'> = domains.runs;
/** The kv domain, for `slimStore`. */
export const kv: SlimDomain<'kv'> = domains.kv;
/** The job domain, for `slimStore`. */
export const jobs: SlimDomain<'jobs'> = domains.jobs;
/** The agent domain, for `slimStore`. */
export const agents: SlimDomain<'agents'> = domains.agents;
/** The artifact domain, for `slimStore`. */
export const artifacts: SlimDomain<'artifacts'> = domains.artifacts;
/** The operator calls, for `slimStore`. */
export const admin: SlimDomain<'admin'> = domains.admin;

/** A store over HTTP with some of its domains. It has no `doctor` and does not remember heads. */
export type SlimStore<Name extends StoreDomain> = Pick<
  Store,
  Name | 'info' | 'ping' | 'close' | typeof Symbol.asyncDispose
> & {
  /** Returns a view confined to one tenant. Throws `TENANT_MISMATCH` when called on the view of another tenant. */
  forTenant(tenantId: string): SlimStore<Name>;
};

/**
 * Opens a store over HTTP that has only the given domains, each with all its methods. Bundlers omit the code of the
 * other domains. Reads `GET /v1/info` before it resolves.
 *
 * @throws `INVALID_ARGUMENT` for an invalid URL or option, `UNAVAILABLE` or `TIMEOUT` if the server does not respond,
 * `UNAUTHENTICATED` for an unknown token, `DURABILITY_TOO_WEAK` with `durability: 'require'`.
 *
 * @example
 * import { kv, runs, slimStore } from '@tidemark/client/slim';
 *
 * const store = await slimStore('http://127.0.0.1:7420', { runs, kv });
 * await store.runs.handle('order-42').append('RunStarted');
 */
export async function slimStore<Name extends StoreDomain>(
  given: string | ConnectionOptions,
  include: { readonly [It in Name]: SlimDomain<It> },
): Promise<SlimStore<Name>> {
  const open = (connection: Connection) => storeOf<SlimStore<Name>>(connection, include, open);
  return open(await connect(typeof given === 'string' ? { url: given } : given));
}
