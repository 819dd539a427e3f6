/** `httpStore`: a Tidemark server as a store with the same contract as any other. */
import {
  type CallOptions,
  type DoctorOptions,
  type DoctorReport,
  deepFindings,
  invalidArgument,
  type Store,
  type StoreAlert,
  type StoreInfo,
} from '@tidemark/core/portable';
import { targetOf } from '@tidemark/wire';
import { type Connection, connect } from './connection.ts';
import * as domains from './domains.ts';
import { HeadWatch } from './head-watch.ts';
import type { ConnectionOptions } from './options.ts';

/** Options of `httpStore`. */
export interface HttpOptions extends ConnectionOptions {
  /**
   * Called when a run has lost events that this client had seen (`HEAD_WENT_BACK`). Without `onAlert`, the client does
   * not remember heads. Damage that the server finds is reported by the server.
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
  const { onAlert } = options;
  if (onAlert !== undefined && typeof onAlert !== 'function') throw invalidArgument('onAlert', 'a function', onAlert);
  return new HttpStore(await connect(options, onAlert ? new HeadWatch(onAlert) : null));
}

class HttpStore implements Store {
  readonly runs: Store['runs'];
  readonly kv: Store['kv'];
  readonly jobs: Store['jobs'];
  readonly agents: Store['agents'];
  readonly artifacts: Store['artifacts'];
  readonly admin: Store['admin'];
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.runs = domains.runs(connection);
    this.kv = domains.kv(connection);
    this.jobs = domains.jobs(connection);
    this.agents = domains.agents(connection);
    this.artifacts = domains.artifacts(connection);
    this.admin = domains.admin(connection);
  }

  get info(): StoreInfo {
    return this.#connection.info;
  }

  forTenant(tenantId: string): Store {
    return new HttpStore(this.#connection.forTenant(tenantId));
  }

  ping(options?: CallOptions): Promise<boolean> {
    return this.#connection.ping(options);
  }

  async doctor(options?: DoctorOptions): Promise<DoctorReport> {
    const query = options?.deep || options?.storage ? { storage: true } : {};
    const report = await this.#connection.transport.call({ ...targetOf('GET /v1/doctor'), query }, options);
    this.#connection.setDurability(report.durability);
    if (!options?.deep) return report;
    const findings = [...report.findings, ...(await deepFindings(this.admin, options))];
    return { ...report, findings, ok: findings.every(({ status }) => status !== 'fail') };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
