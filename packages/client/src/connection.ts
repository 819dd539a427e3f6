/** The connection to a server, shared by the complete store and stores of selected domains. */
import {
  type CallOptions,
  checkId,
  checkInteger,
  invalidArgument,
  isTidemarkError,
  type StoreInfo,
  TidemarkError,
} from '@tidemark/core/portable';
import { targetOf } from '@tidemark/wire';
import type { HeadWatch } from './head-watch.ts';
import type { ConnectionOptions } from './options.ts';
import { Transport } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 5_000;
/**
 * Capabilities that are always off, even if the server's store has them, because projection handlers are functions of
 * this process.
 */
const NOT_OVER_HTTP = { 'runs.inlineProjections': false };

/** Checks the options and reads `GET /v1/info`. */
export async function connect(options: ConnectionOptions, heads: HeadWatch | null = null): Promise<Connection> {
  const { url, token, timeoutMs, fetch = globalThis.fetch } = options;
  const transport = new Transport({
    url: checkUrl(url),
    token,
    fetch: (...args) => fetch(...args),
    timeoutMs: checkInteger(timeoutMs ?? DEFAULT_TIMEOUT_MS, 'timeoutMs', 1),
  });
  // A server of version 0.1 does not send `encrypts`, and seals nothing. It does not send `clock` either.
  const {
    wireVersion,
    encrypts = false,
    clock = 'unknown',
    ...rest
  } = await transport.call(targetOf('GET /v1/info'), undefined);
  const info: StoreInfo = { ...rest, encrypts, clock };
  transport.usesOldNames = wireVersion === undefined;
  transport.limits = info.limits;
  if (options.durability === 'require' && !isDurable(info))
    throw new TidemarkError(
      'DURABILITY_TOO_WEAK',
      "The server's store could lose acknowledged writes; see its doctor",
      {
        current: info.durability,
      },
    );
  return { transport, info, heads };
}

function isDurable({ durability }: StoreInfo): boolean {
  return durability === 'host-crash' || durability === 'node-loss';
}

function checkUrl(url: unknown): string {
  const href = typeof url === 'string' && URL.canParse(url) ? new URL(url).href : '';
  if (/^https?:\/\/[^/?#@]+[^?#]*$/.test(href)) return href.replace(/(?<!\/)\/+$/, '');
  throw invalidArgument('url', 'an http: or https: URL without query, fragment and user');
}

/** A server as seen by one caller, for all tenants or for a single tenant. */
export interface Connection {
  readonly transport: Transport;
  readonly info: StoreInfo;
  readonly heads: HeadWatch | null;
}

/** Returns a store with the given domains. `open` opens its views. */
export function storeOf<Opened>(
  connection: Connection,
  domains: object,
  open: (connection: Connection) => Opened,
): Opened {
  const { transport, info } = connection;
  const opened = Object.entries(domains).map(([name, domain]) => [name, domain(connection)]);
  // The connection is shared by the store and its views, so a view does not close it.
  const close = async () => {
    if (transport.tenantId === null) await transport.close();
  };
  return {
    ...Object.fromEntries(opened),
    get info() {
      const capabilities = { ...info.capabilities, ...NOT_OVER_HTTP };
      return { ...info, capabilities, limits: { ...info.limits } };
    },
    forTenant(tenantId: string) {
      checkId(tenantId, 'tenantId');
      if ((info.tenantId ?? tenantId) === tenantId)
        return open({ ...connection, transport: transport.forTenant(tenantId), info: { ...info, tenantId } });
      throw new TidemarkError('TENANT_MISMATCH', 'A view of one tenant cannot give a view of another', {
        field: 'tenantId',
        rule: 'the tenant of the view',
      });
    },
    async ping(options?: CallOptions) {
      try {
        return (await transport.call(targetOf('GET /v1/ping'), options)).ok;
      } catch (error) {
        if (isTidemarkError(error, 'UNAVAILABLE', 'TIMEOUT', 'OVERLOADED', 'STORAGE_ERROR')) return false;
        throw error;
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
