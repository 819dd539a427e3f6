/** A server on a SQLite file, without auth, until it is killed. `--path --port`; prints its URL. */
import { parseArgs } from 'node:util';
import { createServer } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';

const { values } = parseArgs({ options: { path: { type: 'string' }, port: { type: 'string', default: '0' } } });
const store = await sqliteStore(values.path!);
const server = createServer({ store, port: Number(values.port), inspector: false });
console.log(await server.listen());
