/**
 * A process that rebuilds a projection and kills itself at a named point. Without `--point` it finishes and exits.
 * `--path --version --point --hit`.
 */
import { parseArgs } from 'node:util';
import { sqliteStore } from '@tidemark/sqlite';
import { countsOf } from './rebuild-projection.ts';

const { values } = parseArgs({
  options: {
    path: { type: 'string' },
    version: { type: 'string', default: '1' },
    point: { type: 'string' },
    hit: { type: 'string', default: '1' },
  },
});

let hits = 0;
const store = await sqliteStore(values.path!);
await countsOf(Number(values.version)).rebuild(store, {
  probe(point) {
    if (point === values.point && ++hits === Number(values.hit)) process.kill(process.pid, 'SIGKILL');
  },
});
await store.close();
