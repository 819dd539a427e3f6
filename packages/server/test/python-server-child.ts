/**
 * A server in a child process for the tests of the Python client, which kill it and restart it on the same file and
 * port. Prints its address and stops when its input ends, and so also when its parent process is gone.
 */
import { once } from 'node:events';
import { sqliteStore } from '@tidemark/sqlite';
import { type Authenticator, anonymous, createServer } from '../src/index.ts';

const [file, port, tenantOfToken] = process.argv.slice(2) as [string, string, string?];

/** Admits callers with one of the tokens, each for its tenant, `null` for all. */
function byToken(tenants: Record<string, string | null>): Authenticator {
  return {
    loopbackOnly: true,
    authenticate({ headers }) {
      const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
      if (!Object.hasOwn(tenants, token)) return { refused: 'unknown', message: 'This token is not known' };
      return { id: token, tenantId: tenants[token]!, scopes: ['read', 'append'] };
    },
  };
}

const store = await sqliteStore(file);
const auth = tenantOfToken === undefined ? anonymous() : byToken(JSON.parse(tenantOfToken));
const server = createServer({ store, auth, port: Number(port) });
process.stdout.write(`${await server.listen()}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await server.close();
await store.close();
