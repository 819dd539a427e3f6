/** A server on a SQLite file and a port, until it is killed. */
import { sqliteStore } from '@tidemark/sqlite';
import { createServer } from '../src/index.ts';

const [path, port] = process.argv.slice(2);
const server = createServer({ store: await sqliteStore(path!), port: Number(port) });
console.log(await server.listen());
