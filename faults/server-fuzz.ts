/** Wrong requests to every route of a server on SQLite: only documented answers, never a 500. `--rounds 300 --seed N`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createServer } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';
import { newSeed } from './random.ts';
import { fuzzServer } from './server-fuzzing.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '300' }, seed: { type: 'string', default: String(newSeed() | 0) } },
});

const folder = mkdtempSync(join(tmpdir(), 'tidemark-fuzz-'));
const store = await sqliteStore(join(folder, 'store.db'));
const server = createServer({ store, inspector: false });
try {
  const { requests, statuses, problems } = await fuzzServer(
    await server.listen(),
    Number(values.rounds),
    Number(values.seed),
  );
  for (const problem of problems) console.error(problem);
  const counted = [...statuses].sort().map(([status, count]) => `${count} × ${status}`);
  console.log(
    `server-fuzz: ${requests} requests, ${counted.join(', ')}, ${problems.length} problems, seed ${values.seed}`,
  );
  if (problems.length > 0) process.exitCode = 1;
} finally {
  await server.close();
  await store.close();
  rmSync(folder, { recursive: true });
}
