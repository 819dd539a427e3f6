/** `serve` and `ui`: the store over HTTP, with the inspector, until interrupted. */

import { spawn } from 'node:child_process';
import { invalidArgument, type Store, TidemarkError } from '@tidemark/core';
import { shownUrl } from '@tidemark/core/engine';
import type { Authenticator, JwtOptions, Limits, ServerTls, SomeLimits, TidemarkServer } from '@tidemark/server';
import { readObject } from '../arguments.ts';
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
  for: number | undefined;
}

const OPTIONS = {
  host: withDefault(text('address', 'address to listen on; others than this machine need --auth'), '127.0.0.1'),
  port: withDefault(integer('n', 'port to listen on, 0 for any free one'), 7420),
  auth: toggle('ask every caller for a key of `tidemark keys`, or the admin key in TIDEMARK_ADMIN_KEY or …_FILE'),
  jwt: text('file', 'also take tokens; JSON file with issuer, audience, keys and algorithms; implies --auth'),
  allowHost: texts('name', 'with --auth: answer to this host name only'),
  behindProxy: toggle('with --auth: one proxy in front adds the address of the caller to X-Forwarded-For'),
  tlsCert: text(
    'file',
    'serve https with this certificate in PEM; new files are used without a restart, at once on SIGHUP',
  ),
  tlsKey: text('file', 'its key in PEM'),
  tlsClientCa: text('file', 'with --tls-cert: let in only clients with a certificate of this authority'),
  acceptOldCursors: toggle('with --auth: take cursors of the feed that tenants got from version 0.1'),
  metricsAddress: text('host:port', 'serve /metrics here without a key; elsewhere it needs the scope metrics:read'),
  limit: texts(
    'name=n',
    'with --auth: a limit of a key, or with tenant. in front of a tenant, such as tenant.requestsPerSecond=500',
  ),
  noLoops: toggle('leave the projector and the sweeper to other processes'),
  for: duration('duration', 'end after so long'),
};

/** Who is let in; absent: whoever is on this machine. */
async function authOf(
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

/** The limits that `--limit` names. */
async function limitsOf({ limit }: Serving): Promise<SomeLimits> {
  const { DEFAULT_LIMITS } = await import('@tidemark/server');
  const limits: Record<string, number> & { tenant?: Record<string, number> } = {} as never;
  for (const text of limit) {
    const [, prefix, name = '', digits] = /^(tenant\.)?(\w+)=(\d{1,15})$/.exec(text) ?? [];
    const known: object = prefix ? DEFAULT_LIMITS.tenant : DEFAULT_LIMITS;
    if (typeof Reflect.get(known, name) !== 'number' || Number(digits) < 1)
      throw invalidArgument('--limit', `name=n with one of ${namesOf(DEFAULT_LIMITS).join(', ')}`, text);
    if (prefix) limits.tenant = { ...limits.tenant, [name]: Number(digits) };
    else limits[name] = Number(digits);
  }
  return limits;
}

function namesOf({ tenant, ...limits }: Limits): string[] {
  return [...Object.keys(limits), ...Object.keys(tenant).map((name) => `tenant.${name}`)];
}

/** Serves until interrupted; requests under way are finished before the store is closed. */
async function serveStore(context: CommandContext<unknown, Serving>, onReady: (url: string) => void): Promise<void> {
  const { out, io, options, settings } = context;
  const { createServer } = await import('@tidemark/server');
  if (options.port > 65_535) throw invalidArgument('--port', 'an integer from 0 to 65535', options.port);
  const served: { server?: TidemarkServer } = {};
  const store = await context.store({ isPlain: true, onAlert: (alert) => served.server?.alert(alert) });
  const { host, port } = options;
  const limits = await limitsOf(options);
  const { metricsAddress, acceptOldCursors: acceptsOldCursors } = options;
  const metrics = metricsAddress === undefined ? {} : { metricsAddress };
  const auth = await authOf(store, context);
  const ways = { ...metrics, ...tlsOf(options), ...auth };
  const server = createServer({ store, host, port, limits, acceptsOldCursors, loops: !options.noLoops, ...ways });
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

function tlsOf({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: Serving): { tls?: ServerTls } {
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
    'It also runs the projector and the sweeper, and logs their alerts as JSON lines to stderr; several servers of one store share that work. Without --auth it serves this machine only. Name a store whose URL has a password by --store-file or TIDEMARK_STORE: arguments are in the process list. Ctrl-C ends it: requests under way are finished first.',
  effect: 'rw',
  options: OPTIONS,
  examples: [
    { line: 'serve --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
    { line: 'serve --auth --host 0.0.0.0 --port 0 --for 200ms', shows: '"url":"http://0.0.0.0:' },
    { line: 'serve --auth --limit tenant.topicsAtATime=500 --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
    { line: 'serve --auth --metrics-address 127.0.0.1:0 --port 0 --for 200ms', shows: '"url":"http://127.0.0.1:' },
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
  details: 'A browser is opened from a terminal only; elsewhere the address is printed.',
  effect: 'rw',
  args: { place: maybe('where to begin, such as runs/order-42') },
  options: { ...OPTIONS, port: withDefault(integer('n', 'port to listen on, 0 for any free one'), 0) },
  examples: [{ line: 'ui runs/order-42 --for 200ms', shows: '/runs/order-42' }],
  async run(context) {
    const { io, out, args, dryRun } = context;
    if (dryRun) return out.report({ dryRun: true, would: 'serve', ...context.options });
    await serveStore(context, (url) => {
      const page = `${url}/${(args.place ?? '').split('/').map(encodeURIComponent).join('/')}`;
      void out.note(`The inspector is at ${page}`);
      if (io.stdout.isTerminal) openBrowser(page);
    });
    return EXIT.ok;
  },
});

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] };

/** Where there is no browser to open, the address that was printed has to do. */
function openBrowser(page: string): void {
  const [program = 'xdg-open', ...args] = OPENERS[process.platform] ?? [];
  spawn(program, [...args, page], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

export const serveCommands = [serve, ui];
