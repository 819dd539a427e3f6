/**
 * `npm start`: opens the embedded store, serves it and prints its URL. `npm start -- --demo` fills a separate store
 * with sample data and keeps it changing. `--port N` and `--store URL` override the defaults, and `--no-loops` disables
 * the projector and the sweeper.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fillDemo, keepMoving } from '@tidemark/cli';
import { createServer, type TidemarkServer } from '@tidemark/server';
import { open } from 'tidemark';
import { buildOutdated } from './outdated.ts';

const { values } = parseArgs({
  options: {
    demo: { type: 'boolean', default: false },
    port: { type: 'string', default: '7420' },
    store: { type: 'string' },
    'no-loops': { type: 'boolean', default: false },
  },
});
const FILES = { demo: '.tidemark/demo.db', own: '.tidemark/state.db' };
/** The files of a store. The database itself comes last, because its presence means that the store is complete. */
const ENDINGS = ['-artifacts', '-wal', '-shm', ''];
const url = values.store ?? `sqlite:${values.demo ? FILES.demo : FILES.own}`;

/** Fills a temporary file and moves it, so that an incomplete store is not mistaken for a complete one. */
async function fillDemoFile(file: string): Promise<void> {
  const unfinished = `${file}.unfinished`;
  for (const ending of ENDINGS) rmSync(unfinished + ending, { recursive: true, force: true });
  process.stdout.write('Filling a demo store … ');
  const { runs, sessions, jobs } = await fillDemo(`sqlite:${unfinished}`);
  for (const ending of ENDINGS) if (existsSync(unfinished + ending)) renameSync(unfinished + ending, file + ending);
  console.log(`${runs} runs, ${sessions} sessions, ${jobs} jobs.`);
}

/** Listens on the port, or on any free one if it is taken. */
async function listen(port: number): Promise<{ server: TidemarkServer; address: string }> {
  const server = createServer({ store, port, loops: !values['no-loops'] });
  try {
    return { server, address: await server.listen() };
  } catch (error) {
    if ((error as { code?: string }).code === 'EADDRINUSE') return listen(0);
    throw error;
  }
}

await buildOutdated();
if (values.demo && values.store === undefined && !existsSync(FILES.demo)) await fillDemoFile(FILES.demo);
else if (values.demo && values.store !== undefined) await fillDemo(values.store);

const stopped = new AbortController();
process.once('SIGINT', () => stopped.abort()).once('SIGTERM', () => stopped.abort());

const served: { server?: TidemarkServer } = {};
const store = await open(url, { onAlert: (alert) => served.server?.alert(alert) });
const { backend, version, durability } = store.info;
const { server, address } = await listen(Number(values.port));
served.server = server;
const moving = values.demo ? keepMoving(store, stopped.signal).catch(console.error) : undefined;

console.log(`A store on ${backend} ${version}, ${url}; an acknowledged write survives: ${durability}.

  Inspector   ${address}
  HTTP API    ${address}/v1/info, ${address}/openapi.json
  Commands    npm run tidemark -- runs list --store ${address}

Ctrl-C ends it.`);

await new Promise<void>((done) => stopped.signal.addEventListener('abort', () => done(), { once: true }));
await moving;
await server.close();
await store.close();
