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
  if (options.durability === 'require' && !isDurable(info))
    throw new TidemarkError(
      'DURABILITY_TOO_WEAK',
      "The server's store could lose acknowledged writes; see its doctor",
      {
        current: info.durability,
      },
    );
  return new Connection(transport, info, heads);
}

function isDurable({ durability }: StoreInfo): boolean {
  return durability === 'host-crash' || durability === 'node-loss';
}

function checkUrl(url: unknown): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
  if (parsed && /^https?:$/.test(parsed.protocol) && parsed.search === '' && parsed.hash === '' && !parsed.username)
    return parsed.href.replace(/(?<!\/)\/+$/, '');
  throw invalidArgument('url', 'an http: or https: URL without query, fragment and user');
}

/** A server as seen by one caller, for all tenants or for a single tenant. */
export class Connection {
  readonly transport: Transport;
  readonly heads: HeadWatch | null;
  #info: StoreInfo;

  constructor(transport: Transport, info: StoreInfo, heads: HeadWatch | null) {
    this.transport = transport;
    this.heads = heads;
    this.#info = info;
  }

  get info(): StoreInfo {
    const capabilities = { ...this.#info.capabilities, ...NOT_OVER_HTTP };
    return { ...this.#info, capabilities, limits: { ...this.#info.limits } };
  }

  /** Replaces the durability, which the server's doctor may have measured. */
  setDurability(durability: StoreInfo['durability']): void {
    this.#info = { ...this.#info, durability };
  }

  forTenant(tenantId: string): Connection {
    checkId(tenantId, 'tenantId');
    const confinedTo = this.#info.tenantId ?? tenantId;
    if (confinedTo !== tenantId) {
      throw new TidemarkError('TENANT_MISMATCH', 'A view of one tenant cannot give a view of another', {
        field: 'tenantId',
        rule: 'the tenant of the view',
      });
    }
    return new Connection(this.transport.forTenant(tenantId), { ...this.#info, tenantId }, this.heads);
  }

  async ping(options?: CallOptions): Promise<boolean> {
    try {
      return (await this.transport.call(targetOf('GET /v1/ping'), options)).ok;
    } catch (error) {
      if (isTidemarkError(error, 'UNAVAILABLE', 'TIMEOUT', 'OVERLOADED', 'STORAGE_ERROR')) return false;
      throw error;
    }
  }

  /** A view of a tenant does not close the connection, because the store and all its views share it. */
  async close(): Promise<void> {
    if (this.transport.tenantId === null) await this.transport.close();
  }
}
