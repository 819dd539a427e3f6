/** `serve` and `ui`: serve the store and the inspector over HTTP until interrupted. */

import { spawn } from 'node:child_process';
import { invalidArgument, type Store, TidemarkError } from '@tidemark/core';
import { shownUrl } from '@tidemark/core/engine';
import type {
  Authenticator,
  JwtOptions,
  Limits,
  ServerOptions,
  ServerTls,
  SomeLimits,
  TidemarkServer,
} from '@tidemark/server';
import { readObject } from '../arguments.ts';
import { keySummary, readKey } from '../checkpoint-keys.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { duration, integer, maybe, text, texts, toggle, withDefault } from '../options.ts';
import { untilStopped } from '../until-stopped.ts';

interface Serving {
  host: string;
  port: number;
  auth: boolean;
  jwt: string | undefined;
  allowHost: string[];
  behindProxy: boolean;
  tlsCert: string | undefined;
  tlsKey: string | undefined;
  tlsClientCa: string | undefined;
  limit: string[];
  metricsAddress: string | undefined;
  acceptOldCursors: boolean;
  noLoops: boolean;
  redirectDownloads: number | undefined;
  checkpoints: string | undefined;
  checkpointRun: string | undefined;
  publicKey: string | undefined;
  for: number | undefined;
}

const OPTIONS = {
  host: withDefault(text('address', 'address to listen on; an address other than loopback needs --auth'), '127.0.0.1'),
  port: withDefault(integer('n', 'port to listen on, 0 for any free one'), 7420),
  auth: toggle('require a key from `tidemark keys`, or the admin key in TIDEMARK_ADMIN_KEY or …_FILE'),
  jwt: text('file', 'also accept JWTs; JSON file with issuer, audience, keys and algorithms; implies --auth'),
  allowHost: texts('name', 'with --auth: accept only this host name'),
  behindProxy: toggle('with --auth: trust X-Forwarded-For from one proxy in front'),
  tlsCert: text(
    'file',
    'serve https with this PEM certificate; changed files are used without a restart, at once on SIGHUP',
  ),
  tlsKey: text('file', 'PEM key of the certificate'),
  tlsClientCa: text('file', 'with --tls-cert: accept only clients with a certificate from this authority'),
  acceptOldCursors: toggle('with --auth: accept feed cursors that version 0.1 issued to tenants'),
  metricsAddress: text(
    'host:port',
    'also serve /metrics here, without a key; on the main port it needs the scope metrics:read',
  ),
  limit: texts(
    'name=n',
    'with --auth: a limit per key, or per tenant with the prefix tenant., such as tenant.requestsPerSecond=500',
  ),
  noLoops: toggle('do not run the projector and the sweeper'),
  redirectDownloads: duration(
    'duration',
    'redirect downloads of artifacts to a URL of their bucket that is valid this long, for clients that prefer it',
  ),
  checkpoints: text('file', 'show the last checkpoint of this file, as `tidemark checkpoint --to` writes it'),
  checkpointRun: text('run', 'show the last checkpoint of this run of the store instead of a file'),
  publicKey: text('file', keySummary('the public key of the checkpoints', '--public-key')),
  for: duration('duration', 'stop after this time'),
};

/** Returns the authenticator, or none without --auth, in which case the server accepts every caller on this machine. */
async function createAuth(
  store: Store,
  { options, settings, io }: CommandContext<unknown, Serving>,
): Promise<{ auth?: Authenticator }> {
  if (!options.auth && options.jwt === undefined) return {};
  if (settings.tenant !== undefined)
    throw invalidArgument('--tenant', 'left out with --auth: a key says which tenant it is for', settings.tenant);
  const { ApiKeys, bearer, bootstrapKey } = await import('@tidemark/server');
  const admin = bootstrapKey(io.env as NodeJS.ProcessEnv);
  const jwt = options.jwt === undefined ? undefined : await readObject(`@${options.jwt}`, '--jwt', io);
  const auth = bearer({
    keys: new ApiKeys(store),
    ...(admin === undefined ? {} : { bootstrapKey: admin }),
    ...(jwt === undefined ? {} : { jwt: jwt as unknown as JwtOptions }),
    ...(options.allowHost.length > 0 ? { hosts: options.allowHost } : {}),
    isBehindProxy: options.behindProxy,
  });
  return { auth };
}

/** Parses the values of `--limit`. */
async function parseLimits({ limit }: Serving): Promise<SomeLimits> {
  const { DEFAULT_LIMITS } = await import('@tidemark/server');
  const limits: Record<string, number> & { tenant?: Record<string, number> } = {} as never;
  for (const text of limit) {
    const [, prefix, name = '', digits] = /^(tenant\.)?(\w+)=(\d{1,15})$/.exec(text) ?? [];
    const known: object = prefix ? DEFAULT_LIMITS.tenant : DEFAULT_LIMITS;
    if (typeof Reflect.get(known, name) !== 'number' || Number(digits) < 1)
      throw invalidArgument('--limit', `name=n with one of ${limitNames(DEFAULT_LIMITS).join(', ')}`, text);
    if (prefix) limits.tenant = { ...limits.tenant, [name]: Number(digits) };
    else limits[name] = Number(digits);
  }
  return limits;
}

function limitNames({ tenant, ...limits }: Limits): string[] {
  return [...Object.keys(limits), ...Object.keys(tenant).map((name) => `tenant.${name}`)];
}

/** Serves until interrupted. Finishes running requests before the store is closed. */
async function serveStore(context: CommandContext<unknown, Serving>, onReady: (url: string) => void): Promise<void> {
  const { out, io, options, settings } = context;
  const { createServer } = await import('@tidemark/server');
  if (options.port > 65_535) throw invalidArgument('--port', 'an integer from 0 to 65535', options.port);
  const served: { server?: TidemarkServer } = {};
  const store = await context.store({ withoutRetries: true, onAlert: (alert) => served.server?.alert(alert) });
  const { host, port } = options;
  const limits = await parseLimits(options);
  const { metricsAddress, acceptOldCursors: acceptsOldCursors } = options;
  const metrics = metricsAddress === undefined ? {} : { metricsAddress };
  const auth = await createAuth(store, context);
  const redirects = options.redirectDownloads === undefined ? {} : { redirectDownloadsFor: options.redirectDownloads };
  const checkpoints = await checkpointsOf(store, context);
  const access = { ...metrics, ...tlsOptions(options), ...auth, ...redirects, ...checkpoints };
  const server = createServer({ store, host, port, limits, acceptsOldCursors, loops: !options.noLoops, ...access });
  served.server = server;
  const url = await listen(server, options);
  const reload = () => void server.reloadTls();
  if (options.tlsCert !== undefined) process.on('SIGHUP', reload);
  try {
    await out.report({ url, store: shownUrl(settings.store) }, url);
    onReady(url);
    await untilStopped(io.signal, options.for);
  } finally {
    process.off('SIGHUP', reload);
    await server.close();
  }
}

/** Returns where the checkpoints are and the key of their signer, or nothing if the server should show none. */
async function checkpointsOf(
  store: Store,
  context: CommandContext<unknown, Serving>,
): Promise<Pick<ServerOptions, 'checkpoints'>> {
  const { checkpoints: file, checkpointRun: runId, publicKey: given } = context.options;
  if (file === undefined && runId === undefined) return {};
  if (file !== undefined && runId !== undefined)
    throw invalidArgument('--checkpoints', 'given, or --checkpoint-run, and not both', file);
  const publicKey = await readKey(context, '--public-key', given);
  return { checkpoints: { publicKey, ...(file === undefined ? { run: { store, runId: runId! } } : { file }) } };
}

function tlsOptions({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: Serving): { tls?: ServerTls } {
  if (cert === undefined && key === undefined && clientCa === undefined) return {};
  if (cert === undefined || key === undefined)
    throw invalidArgument('--tls-cert', 'given together with --tls-key: https needs both');
  return { tls: { cert, key, ...(clientCa === undefined ? {} : { clientCa }) } };
}

async function listen(server: TidemarkServer, { host, port }: Serving): Promise<string> {
  try {
    return await server.listen();
  } catch (cause) {
    const reason =
      (cause as { code?: string }).code === 'EADDRINUSE' ? 'it is in use: choose another with --port' : `${cause}`;
    throw new TidemarkError('UNAVAILABLE', `${host}:${port} cannot be listened on; ${reason}`, { cause });
  }
}

const serve = defineCommand({
  name: 'serve',
  summary: 'Serve the store over HTTP, with the inspector',
  details:
    'Also runs the projector and the sweeper, and logs their alerts to stderr as JSON lines; several servers of one store share this work. Without --auth it serves only this machine. Pass a URL that contains a password by --store-file or TIDEMARK_STORE, because arguments are visible in the process list. Ctrl-C stops the server once running requests are finished.',
  effect: 'rw',
  options: OPTIONS,
  examples: [
    { line: 'serve --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
    { line: 'serve --auth --host 0.0.0.0 --port 0 --for 200ms', shows: '"url":"http://0.0.0.0:' },
    { line: 'serve --auth --limit tenant.topicsAtATime=500 --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
    { line: 'serve --auth --metrics-address 127.0.0.1:0 --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
    {
      line: 'serve --checkpoints checkpoints.jsonl --public-key checkpoint.key.pub --port 0 --for 200ms',
      shows: '"url":"http://127.0.0.1:',
    },
    { line: 'serve --no-loops --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
    { line: 'serve --limit requests=1', shows: 'tenant.requestsPerSecond', exit: 2 },
    { line: 'serve --host 0.0.0.0', shows: 'INVALID_ARGUMENT', exit: 2 },
    { line: 'serve --tls-cert server.pem', shows: '--tls-key', exit: 2 },
  ],
  async run(context) {
    if (context.dryRun) return context.out.report({ dryRun: true, would: 'serve', ...context.options });
    await serveStore(context, () => {});
    return EXIT.ok;
  },
});

const ui = defineCommand({
  name: 'ui',
  summary: 'Serve the store and open the inspector in a browser',
  details: 'Opens a browser only when started from a terminal; otherwise prints the address.',
  effect: 'rw',
  args: { path: maybe('page to open, such as runs/order-42') },
  options: { ...OPTIONS, port: withDefault(integer('n', 'port to listen on, 0 for any free one'), 0) },
  examples: [{ line: 'ui runs/order-42 --for 200ms', shows: '/runs/order-42' }],
  async run(context) {
    const { io, out, args, dryRun } = context;
    if (dryRun) return out.report({ dryRun: true, would: 'serve', ...context.options });
    await serveStore(context, (url) => {
      const page = `${url}/${(args.path ?? '').split('/').map(encodeURIComponent).join('/')}`;
      void out.note(`The inspector is at ${page}`);
      if (io.stdout.isTerminal) openBrowser(page);
    });
    return EXIT.ok;
  },
});

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] };

/** Ignores failures, because the address was also printed. */
function openBrowser(page: string): void {
  const [program = 'xdg-open', ...args] = OPENERS[process.platform] ?? [];
  spawn(program, [...args, page], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

export const serveCommands = [serve, ui];
