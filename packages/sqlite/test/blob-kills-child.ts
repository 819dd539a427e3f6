/**
 * A process that stores a large artifact or erases a session, and kills itself before its n-th step: before and after
 * each file change and each commit. Prints `done` when it took fewer steps. Arguments: path, `put` or `erase`, n.
 */
import { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Connection } from '../src/connection.ts';
import { sqliteStore } from '../src/store.ts';
import { LARGE, SESSIONS } from './blob-kills.ts';

const [path, operation, killAt] = process.argv.slice(2) as [string, 'put' | 'erase', string];

let [isArmed, steps] = [false, 0];

function step(): void {
  if (isArmed && ++steps === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

for (const name of ['open', 'rename', 'rm'] as const) {
  const original = promises[name] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(promises, {
    [name]: async (...args: unknown[]) => {
      step();
      const result = await original(...args);
      step();
      return result;
    },
  });
}
syncBuiltinESMExports();

const run = Connection.prototype.run;
Connection.prototype.run = function (sql, ...params) {
  if (sql === 'COMMIT') step();
  const changes = run.call(this, sql, ...params);
  if (sql === 'COMMIT') step();
  return changes;
};

const store = await sqliteStore({ path, timeoutMs: 30_000 });
isArmed = true;
if (operation === 'put') await store.artifacts.putBytes(LARGE, { scope: { sessionId: SESSIONS.writer } });
else await store.admin.eraseSession(SESSIONS.erased);
isArmed = false;
console.log(`done after ${steps} steps`);
await store.close();
