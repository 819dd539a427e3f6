/** `httpStore`: a Tidemark server as a store with the same contract as any other. */
import {
  type DoctorOptions,
  type DoctorReport,
  deepFindings,
  invalidArgument,
  type Store,
  type StoreAlert,
} from '@tidemark/core/portable';
import { targetOf } from '@tidemark/wire';
import { type Connection, connect, storeOf } from './connection.ts';
import { admin, agents, artifacts, jobs, kv, runs } from './domains.ts';
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
  // Loaded on demand, because few pages watch heads.
  const heads = onAlert ? new (await import('./head-watch.ts')).HeadWatch(onAlert) : null;
  return open(await connect(options, heads));
}

function open(connection: Connection): Store {
  const store = storeOf<Omit<Store, 'doctor'>>(connection, { runs, kv, jobs, agents, artifacts, admin }, open);
  return Object.assign(store, {
    async doctor(options?: DoctorOptions): Promise<DoctorReport> {
      const query = options?.deep || options?.storage ? { storage: true } : {};
      const report = await connection.transport.call({ ...targetOf('GET /v1/doctor'), query }, options);
      // The server's doctor may have measured it.
      connection.info.durability = report.durability;
      if (!options?.deep) return report;
      const findings = [...report.findings, ...(await deepFindings(store.admin, options))];
      return { ...report, findings, ok: findings.every(({ status }) => status !== 'fail') };
    },
  });
}
