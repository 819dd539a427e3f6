/** Runs the benchmarks of the named engines, prints a table, and writes the figures as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { buildOutdated } from '../scripts/outdated.ts';
import { compareWith } from './against.ts';
import { attribute } from './attribution.ts';
import { benchCodec } from './codec.ts';
import { benchCopying } from './copying.ts';
import { benchDynamodb } from './dynamodb.ts';
import { benchGrowth } from './growth/run.ts';
import { guard } from './guard.ts';
import { benchInspector } from './inspector.ts';
import { benchJobs } from './jobs.ts';
import { benchKeeping } from './keeping.ts';
import { compareSavers } from './langgraph/run.ts';
import { type Figure, formatFigures } from './measure.ts';
import { benchMemory } from './memory.ts';
import { benchNats } from './nats.ts';
import { compareWithNeighbours } from './neighbours/run.ts';
import { drawPicture } from './picture.ts';
import { benchPlaced } from './placed.ts';
import { benchPostgres } from './postgres.ts';
import { benchProjector } from './projector.ts';
import { benchRedis } from './redis.ts';
import { benchScans } from './scans.ts';
import { benchServer } from './server.ts';
import { benchSnapshots } from './snapshots.ts';
import { benchSqlite } from './sqlite.ts';

const ENGINES: Record<string, (report: (line: string) => void, quick: boolean) => Promise<Figure[]>> = {
  memory: benchMemory,
  sqlite: benchSqlite,
  postgres: benchPostgres,
  placed: benchPlaced,
  snapshots: benchSnapshots,
  jobs: benchJobs,
  codec: benchCodec,
  copying: benchCopying,
  keeping: benchKeeping,
  projector: benchProjector,
  redis: benchRedis,
  nats: benchNats,
  dynamodb: benchDynamodb,
  scans: benchScans,
  growth: benchGrowth,
  server: benchServer,
  inspector: benchInspector,
};

const quick = process.argv.includes('--quick');
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
if (named[0] === 'picture') {
  drawPicture();
  process.exit();
}
await buildOutdated();
if (named[0] === 'against') {
  await compareWith(process.argv.slice(3));
  process.exit();
}
if (named[0] === 'attribution') {
  await attribute(process.argv.slice(3));
  process.exit();
}
if (named[0] === 'guard') {
  process.exit((await guard(process.argv.slice(3))) ? 0 : 1);
}
if (named[0] === 'neighbours') {
  await compareWithNeighbours(process.argv.slice(3));
  process.exit();
}
if (named[0] === 'langgraph') {
  await compareSavers(process.argv.slice(3));
  process.exit();
}
const unknown = named.find((name) => !(name in ENGINES));
if (unknown !== undefined) {
  console.error(
    `There is no benchmark for ${unknown}; choose from ${Object.keys(ENGINES).join(', ')}, against, attribution, guard, langgraph, neighbours`,
  );
  process.exit(2);
}

const results = new URL('./results/', import.meta.url);
mkdirSync(results, { recursive: true });
for (const engine of named.length > 0 ? named : Object.keys(ENGINES)) {
  const figures = await ENGINES[engine]!((line) => console.error(`${engine}: ${line}`), quick);
  console.log(`\n${engine}\n${formatFigures(figures)}`);
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(
    new URL(`${engine}.json`, results),
    `${JSON.stringify({ engine, at: new Date().toISOString(), machine, figures }, null, 2)}\n`,
  );
}
