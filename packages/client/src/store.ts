/** `httpStore`: a Tidemark server as a store with the same contract as any other. */
import {
  type CallOptions,
  checkId,
  checkInteger,
  type DoctorOptions,
  type DoctorReport,
  deepFindings,
  invalidArgument,
  isTidemarkError,
  type Store,
  type StoreAlert,
  type StoreInfo,
  TidemarkError,
} from '@tidemark/core/portable';
import { targetOf } from '@tidemark/wire';
import { httpAdmin } from './admin.ts';
import { httpAgents } from './agents/index.ts';
import { httpArtifacts } from './artifacts.ts';
import { HeadWatch } from './head-watch.ts';
import { httpJobs } from './jobs.ts';
import { httpKv } from './kv.ts';
import { httpRuns } from './runs.ts';
import { Transport } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 5_000;
/** Always off, even if the server's store has them: projection handlers are functions of this process. */
const NOT_OVER_HTTP = { 'runs.inlineProjections': false };

export interface HttpOptions {
  /** URL of the server, such as `http://127.0.0.1:4100`, with a path if a proxy adds one. */
  url: string;
  /** An API key or a JWT, sent as a bearer token. */
  token?: string;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Default time limit of a call in milliseconds. Default 5 000. */
  timeoutMs?: number;
  /** `require` rejects a server whose store could lose an acknowledged write in a power cut. */
  durability?: 'require';
  /**
   * Called when a run lost events that this client saw (`HEAD_WENT_BACK`). Without it the client remembers no heads.
   * Damage found by the server is reported by the server.
   */
  onAlert?: (alert: StoreAlert) => void;
}

/**
 * Opens a store over HTTP, with the same contract as a local one. Reads `GET /v1/info` before it resolves.
 *
 * @throws `INVALID_ARGUMENT` for an invalid URL or option, `UNAVAILABLE` or `TIMEOUT` if the server does not respond,
 * `UNAUTHENTICATED` for an unknown token, `DURABILITY_TOO_WEAK` with `durability: 'require'`.
 *
 * @example
 * const store = await httpStore('http://127.0.0.1:7420');
 * await store.runs.handle('order-42').append('RunStarted');
 */
export async function httpStore(given: string | HttpOptions): Promise<Store> {
  const options: HttpOptions = typeof given === 'string' ? { url: given } : given;
  const { url, token, timeoutMs, fetch = globalThis.fetch } = options;
  const transport = new Transport({
    url: checkUrl(url),
    token,
    fetch: (...args) => fetch(...args),
    timeoutMs: checkInteger(timeoutMs ?? DEFAULT_TIMEOUT_MS, 'timeoutMs', 1),
  });
  const { wireVersion, ...info } = await transport.call(targetOf('GET /v1/info'), undefined);
  transport.usesOldNames = wireVersion === undefined;
  if (options.durability === 'require' && !isDurable(info))
    throw new TidemarkError(
      'DURABILITY_TOO_WEAK',
      "The server's store could lose acknowledged writes; see its doctor",
      {
        current: info.durability,
      },
    );
  if (options.onAlert !== undefined && typeof options.onAlert !== 'function')
    throw invalidArgument('onAlert', 'a function', options.onAlert);
  return new HttpStore(transport, info, options.onAlert ? new HeadWatch(options.onAlert) : null);
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

class HttpStore implements Store {
  readonly runs: Store['runs'];
  readonly kv: Store['kv'];
  readonly jobs: Store['jobs'];
  readonly agents: Store['agents'];
  readonly artifacts: Store['artifacts'];
  readonly admin: Store['admin'];
  readonly #transport: Transport;
  readonly #heads: HeadWatch | null;
  #info: StoreInfo;

  constructor(transport: Transport, info: StoreInfo, heads: HeadWatch | null) {
    this.#transport = transport;
    this.#info = info;
    this.#heads = heads;
    this.runs = httpRuns(transport, info, heads);
    this.kv = httpKv(transport, info.limits);
    this.jobs = httpJobs(transport, info.limits);
    this.agents = httpAgents(transport, info.limits);
    this.artifacts = httpArtifacts(transport, info.limits);
    this.admin = httpAdmin(transport, info.limits);
  }

  get info(): StoreInfo {
    const capabilities = { ...this.#info.capabilities, ...NOT_OVER_HTTP };
    return { ...this.#info, capabilities, limits: { ...this.#info.limits } };
  }

  forTenant(tenantId: string): Store {
    checkId(tenantId, 'tenantId');
    const confinedTo = this.#info.tenantId ?? tenantId;
    if (confinedTo !== tenantId) {
      throw new TidemarkError('TENANT_MISMATCH', 'A view of one tenant cannot give a view of another', {
        field: 'tenantId',
        rule: 'the tenant of the view',
      });
    }
    return new HttpStore(this.#transport.forTenant(tenantId), { ...this.#info, tenantId }, this.#heads);
  }

  async ping(options?: CallOptions): Promise<boolean> {
    try {
      return (await this.#transport.call(targetOf('GET /v1/ping'), options)).ok;
    } catch (error) {
      if (isTidemarkError(error, 'UNAVAILABLE', 'TIMEOUT', 'OVERLOADED', 'STORAGE_ERROR')) return false;
      throw error;
    }
  }

  async doctor(options?: DoctorOptions): Promise<DoctorReport> {
    const query = options?.deep || options?.storage ? { storage: true } : {};
    const report = await this.#transport.call({ ...targetOf('GET /v1/doctor'), query }, options);
    this.#info = { ...this.#info, durability: report.durability };
    if (!options?.deep) return report;
    const findings = [...report.findings, ...(await deepFindings(this.admin, options))];
    return { ...report, findings, ok: findings.every(({ status }) => status !== 'fail') };
  }

  async close(): Promise<void> {
    if (this.#transport.tenantId === null) await this.#transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
