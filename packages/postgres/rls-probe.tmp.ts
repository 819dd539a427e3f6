import { startKind } from '/work/main/scripts/servers/index.ts'; import { postgresOfVersion } from '/work/main/scripts/servers/postgres.ts';
import { runConformance } from '@tidemark/conformance';
import pg from 'pg';
import { postgresStore } from '/work/main/packages/postgres/src/index.ts';
const servers = { postgres: await startKind(postgresOfVersion(Number(process.argv[3]) as 14)) };
const owner = servers.postgres!.url;
const partitions = process.argv[2] === 'p' ? 8 : undefined;
try {
  await (await postgresStore({ url: owner, rowLevelSecurity: true, ...(partitions ? { partitions } : {}) })).close();
  const c = new pg.Client(owner); await c.connect();
  await c.query('CREATE ROLE app LOGIN; GRANT tidemark_writer, tidemark_admin TO app'); await c.end();
  const u = new URL(owner); u.username = 'app'; const url = u.href;
  const open = () => postgresStore({ url, rowLevelSecurity: true, migrate: false, ...(partitions ? { partitions } : {}) });
  const t = performance.now();
  const report = await runConformance(async () => {
    let store = await open();
    return { store, peer: open, reopen: async () => { await store.close(); store = await open(); return store; } };
  }, {});
  console.log(report.totals, ((performance.now() - t) / 1000).toFixed(1), 's');
  for (const c of report.cases) if (c.status === 'failed') console.log('  FAILED', c.id, String(c.error).slice(0, 400));
  const s = await open();
  console.log(await s.doctor());
  await s.close();
} finally { await servers.postgres!.stop(); }
process.exit(0);
