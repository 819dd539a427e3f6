/** A server on a SQLite file that requires keys, until it is killed. `--path --port`; prints its URL. */
import { parseArgs } from 'node:util';
import { ApiKeys, bearer, createServer } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';
import { takePriority } from './fairness-load.ts';

const { values } = parseArgs({ options: { path: { type: 'string' }, port: { type: 'string', default: '0' } } });
takePriority();
const store = await sqliteStore(values.path!);
const logger = { info: () => {}, error: (entry: object) => console.error(entry) };
const auth = bearer({ keys: new ApiKeys(store) });
const server = createServer({ store, auth, port: Number(values.port), inspector: false, logger });
console.log(await server.listen());
