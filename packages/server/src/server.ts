/** `createServer`: serves a store over HTTP, and shuts down without dropping accepted work. */

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Duration, invalidArgument, type Store, type StoreAlert } from '@tidemark/core';
import { checkDuration, downloadUrlOf, sleep } from '@tidemark/core/engine';
import { type CheckpointReaderOptions, createCheckpointReader } from '@tidemark/runtime';
import { Alerts } from './alerts.ts';
import { Application } from './application.ts';
import { Audit } from './audit/audit.ts';
import { RefusalRation } from './audit/requests.ts';
import { Admission } from './auth/admission.ts';
import { Holds } from './auth/holds.ts';
import { withoutSystemTenant } from './auth/system-tenant.ts';
import { type Authenticator, anonymous, isLoopback } from './auth.ts';
import { openApiDocument } from './document.ts';
import { FeedCursors } from './hiding/feed-cursors.ts';
import { Secret } from './hiding/secret.ts';
import { makeSafe, malformedRequestResponse, SafeResponse } from './http/safe-response.ts';
import { Callers } from './limits/callers.ts';
import { MemoryBudget } from './limits/memory-budget.ts';
import { Shares } from './limits/shares.ts';
import { Work } from './limits/work.ts';
import { limitsWith, type SomeLimits } from './limits.ts';
import { type Logger, stderrLogger } from './logger.ts';
import { ServerLoops } from './loops.ts';
import { Metrics, metricsHandler } from './metrics.ts';
import { QuarantineMetrics } from './quarantine-metrics.ts';
import { readinessOf } from './readiness.ts';
import { ROUTES } from './routes/index.ts';
import type { Services } from './routes/route.ts';
import { SecurityLog } from './security-log.ts';
import { documentationPages, inspectorPages } from './static.ts';
import { Hub } from './streams/hub.ts';
import { RunHints } from './streams/run-hints.ts';
import { openTls, type ServerTls, type TlsFiles } from './tls.ts';
import { Views } from './views.ts';

const DEFAULT_HOST = '127.0.0.1';
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 5_000;
const SETTLE_MS = 20;

/** Options of `createServer`. */
export interface ServerOptions {
  store: Store;
  /** Identifies callers. Default `anonymous()`, which serves only this machine. */
  auth?: Authenticator;
  /** The address to listen on. Default 127.0.0.1. Other addresses require an `auth` that identifies callers. */
  host?: string;
  /** The port to listen on. Default 0, which means any free port; `url` contains the port in use. */
  port?: number;
  /**
   * Serves https. The files are checked every second, and new files are used without a restart. Default: plain http.
   */
  tls?: ServerTls;
  limits?: SomeLimits;
  /** Default: JSON lines on standard error. */
  logger?: Logger;
  /**
   * `host:port` of a second address that serves `/metrics` without a key, such as `127.0.0.1:9464`. Port 0 means any
   * free port. Default: no second address, in which case reading `/metrics` requires the scope `metrics:read`.
   */
  metricsAddress?: string;
  /**
   * Accepts feed cursors that tenants received from servers of version 0.1. Such a cursor reveals the position of an
   * event among the events of all tenants. Default false.
   */
  acceptsOldCursors?: boolean;
  /**
   * Runs the projector and the sweeper while the server listens, and logs every alert. Servers of one store share the
   * work. Default false.
   */
  loops?: boolean;
  /**
   * Redirects downloads of artifacts to a URL of their bucket that is valid for this time, if the request has the
   * header `Prefer: redirect` and the bytes are in a bucket and not encoded. Anyone who has the URL can download the
   * artifact until it expires. Default: the server sends the bytes itself.
   */
  redirectDownloadsFor?: Duration;
  /**
   * The checkpoints of the store, as `createCheckpointer` writes them. `GET /v1/runs/{runId}/checkpoint` and the
   * inspector show the last one. Default: none.
   */
  checkpoints?: CheckpointReaderOptions;
  /** Directory of the built inspector. Default: the inspector in this package. `false` disables the inspector. */
  inspector?: string | false;
  /**
   * Directory of the built documentation, served at `/docs`. Default: the documentation in this package. `false`
   * disables it.
   */
  docs?: string | false;
}

/** An HTTP server for a store. Closing it leaves the store open. */
export interface TidemarkServer {
  /** The address that the server listens on. Available once `listen` has resolved. */
  readonly url: string;
  /** The address that serves metrics without a key; `null` without a `metricsAddress`. */
  readonly metricsUrl: string | null;
  /** Starts listening. Resolves with the address once connections are accepted. */
  listen(): Promise<string>;
  /**
   * Stops accepting connections, ends live streams so that their readers can resume later, and finishes accepted
   * requests. Requests that take longer than `limits.closeMs` are cut off.
   */
  close(): Promise<void>;
  /** Logs an alert of the store as one structured line and counts it. Pass it to the store as `onAlert`. */
  alert(alert: StoreAlert): void;
  /** Reloads the TLS files immediately. Returns whether new files are in use; false without TLS. */
  reloadTls(): boolean;
  /** Handles a request. Use it to serve the store from your own HTTP server. */
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * Creates an HTTP server for a store. It accepts connections after `listen()`.
 *
 * @throws `INVALID_ARGUMENT` for a `host` other than loopback without `auth`, or TLS files that cannot be used.
 *
 * @example
 * const server = createServer({ store });
 * console.log('listening on', await server.listen());
 * await server.close();
 */
export function createServer(options: ServerOptions): TidemarkServer {
  const { store, auth = anonymous(), host = DEFAULT_HOST, port = 0, logger = stderrLogger } = options;
  if (auth.loopbackOnly && !isLoopback(host))
    throw invalidArgument(
      'host',
      'of this machine while there is no auth: everybody who reaches it is an operator',
      host,
    );
  const limits = limitsWith(options.limits);
  const metrics = new Metrics();
  const memory = new MemoryBudget(limits.memoryBytes);
  metrics.add(() => memory.render());
  const alerts = new Alerts(logger, metrics);
  const loops = new ServerLoops(store, alerts, logger);
  metrics.add(() => loops.render());
  const shares = new Shares();
  shareGauges(metrics, shares);
  const quarantines = new QuarantineMetrics(store, metrics);
  const hub = new Hub(new RunHints(store), metrics, shares, limits.streams);
  let isClosing = false;
  const readiness = readinessOf(store);
  const notReady = async () => (isClosing ? 'The server is stopping' : readiness());
  // Without auth, every caller is an operator.
  const secret = auth.loopbackOnly ? null : new Secret(store);
  const cursors = new FeedCursors(secret, options.acceptsOldCursors ?? false);
  // Without auth, callers cannot be distinguished, so there is nothing to count.
  const callers = auth.loopbackOnly ? null : new Callers(limits, (limit) => metrics.count('limited', { limit }));
  const services = {
    hub,
    shares,
    work: new Work(shares),
    cursors,
    hidesRevisions: secret !== null,
    callers,
    metrics,
    limits,
    memory,
    document: openApiDocument(),
    notReady,
    loops,
    checkpoints: options.checkpoints ? createCheckpointReader(options.checkpoints) : null,
    downloadUrl: downloadUrls(store, options.redirectDownloadsFor),
  };
  const onLost = (error: unknown) => logger.error({ event: 'audit_outcome_lost', error });
  const audit = auth.loopbackOnly ? null : new Audit(store, onLost);
  const addressOf = (request: IncomingMessage) => request.socket.remoteAddress ?? 'unknown';
  const security = new SecurityLog(logger, metrics, auth.addressOf ?? addressOf);
  const holds = new Holds(auth, ({ id, tenantId }, { message }, requests) =>
    security.note('credential_ended', null, { by: id, tenant: tenantId, reason: message, requests }),
  );
  const admission = new Admission({ auth, callers, shares, security, logger });
  const views = new Views(withoutSystemTenant(store), secret);
  const application = new Application({
    routes: ROUTES,
    views,
    admission,
    audit,
    holds,
    security,
    refusals: new RefusalRation(),
    services,
    logger,
  });
  const { headersTimeoutMs: headersTimeout, requestTimeoutMs: requestTimeout } = limits;
  // How often slow sockets are checked. With Node's default, slow sockets would stay open for up to half a minute
  // longer.
  const connectionsCheckingInterval = Math.min(CHECK_MS, headersTimeout);
  const timeouts = { headersTimeout, requestTimeout, connectionsCheckingInterval, keepAliveTimeout: KEEP_ALIVE_MS };
  const isWelcome = (request: IncomingMessage) => !auth.refuse?.(request);
  const pages = [documentationPages(options.docs, isWelcome), inspectorPages(options.inspector, isWelcome)];
  const handle: TidemarkServer['handle'] = (request, response) => {
    makeSafe(response);
    if (!pages.some((page) => page(request, response))) application.handle(request, response);
  };
  const tls = options.tls && openTls(options.tls, logger);
  const server = makeServer(timeouts, handle, tls, options.tls?.clientCa !== undefined);
  const metricsAt = options.metricsAddress === undefined ? null : addressIn(options.metricsAddress);
  const metricsServer = metricsAt && makeServer(timeouts, metricsHandler(metrics), undefined, false);
  let closing: Promise<void> | undefined;

  return {
    get url() {
      return urlOf(server, host, tls !== undefined);
    },
    alert(alert) {
      alerts.note(alert);
      if (alert.code === 'RUN_QUARANTINED') quarantines.expectMore();
    },
    reloadTls: () => tls?.reload() ?? false,
    get metricsUrl() {
      return metricsServer && `${urlOf(metricsServer, metricsAt.host, false)}/metrics`;
    },
    async listen() {
      await listening(server, { port, host });
      if (metricsServer) await listening(metricsServer, metricsAt);
      void quarantines.look();
      if (options.loops) loops.start();
      return urlOf(server, host, tls !== undefined);
    },
    close() {
      isClosing = true;
      tls?.stop();
      holds.close();
      shares.close();
      security.close();
      metricsServer?.close();
      metricsServer?.closeAllConnections();
      closing ??= Promise.all([closeGracefully(server, hub, application, limits.closeMs), loops.stop()]).then(() => {});
      return closing;
    },
    handle,
  };
}

type Timeouts = { headersTimeout: number; requestTimeout: number; connectionsCheckingInterval: number };

function makeServer(
  timeouts: Timeouts,
  handle: TidemarkServer['handle'],
  tls: TlsFiles | undefined,
  asksForCertificates: boolean,
): Server {
  const options = { ...timeouts, ServerResponse: SafeResponse };
  const plain = () => createHttpServer(options, handle);
  const encrypted = ({ contents }: TlsFiles) =>
    createHttpsServer(
      {
        ...options,
        ...contents,
        handshakeTimeout: timeouts.headersTimeout,
        requestCert: asksForCertificates,
        rejectUnauthorized: asksForCertificates,
      },
      handle,
    );
  const server = tls ? encrypted(tls) : plain();
  if ('setSecureContext' in server) tls?.follow(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // In the middle of a response, this text would be mistaken for a part of that response.
    const isAnswering = (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true;
    if (error.code !== 'ECONNRESET' && socket.writable && !isAnswering)
      socket.write(malformedRequestResponse(error.code));
    (socket as Socket).destroySoon();
  });
  return server;
}

function shareGauges(metrics: Metrics, shares: Shares): void {
  metrics.addGauge('tidemark_share_level', {
    help: "Estimated share of the process's time that each tenant may use now; 4 means that nobody waits.",
    value: () => shares.level,
  });
  metrics.addGauge('tidemark_share_waiting', {
    help: "Requests and reads that are waiting for their tenant's share.",
    value: () => shares.waiting,
  });
}

function listening(server: Server, at: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function addressIn(text: string): { host: string; port: number } {
  const [, host, digits] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || !(port <= 65_535))
    throw invalidArgument('metricsAddress', 'host:port, such as 127.0.0.1:9464', text);
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
}

function urlOf(server: Server, host: string, isEncrypted: boolean): string {
  const address = server.address() as AddressInfo | null;
  if (!address) throw invalidArgument('server', 'listening before its address is asked for');
  return `${isEncrypted ? 'https' : 'http'}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${address.port}`;
}

/** Finishes accepted requests, closes idle connections, and cuts off requests that exceed the limit. */
async function closeGracefully(server: Server, hub: Hub, application: Application, limitMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  hub.close();
  const deadline = Date.now() + limitMs;
  const isBusy = () => application.active > 0 && Date.now() < deadline;
  while (isBusy()) await sleep(SETTLE_MS);
  server.closeIdleConnections();
  // Responses that were written but not yet received also get a moment to arrive.
  const cut = setTimeout(
    () => server.closeAllConnections(),
    Math.max(SETTLE_MS, Math.min(1_000, deadline - Date.now())),
  );
  await closed;
  clearTimeout(cut);
}

function downloadUrls(store: Store, validFor: Duration | undefined): Services['downloadUrl'] {
  if (validFor === undefined) return async () => null;
  const expiresInMs = checkDuration(validFor, 'redirectDownloadsFor');
  return (tenantId, ref, options) => downloadUrlOf(store, tenantId, ref, expiresInMs, options);
}
