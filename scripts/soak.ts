/**
 * `npm run soak`: runs the fault tests at full length, one after the other: kills, power failures, flipped bits,
 * failing disks, lost workers. Arguments select the tests to run: `npm run soak -- kill power-cut`. Takes about half an
 * hour.
 */
import { runVisibly } from './processes.ts';

const RIGS: Record<string, string[]> = {
  races: [],
  kit: ['--rounds', '10'],
  opening: ['--rounds', '20'],
  'rolling-upgrade': [],
  kill: ['--rounds', '200'],
  'power-cut': ['--cuts', '10'],
  'bit-flip': ['--flips', '300'],
  'damage-flips': ['--flips', '1000', '--engine', 'sqlite,redis,nats,postgres'],
  'io-error': [],
  'postgres-kill': ['--rounds', '20'],
  'redis-full': [],
  'redis-cluster': ['--rounds', '40'],
  'nats-kill': ['--rounds', '20'],
  'dynamodb-kill': ['--kills', '200'],
  jobs: ['--jobs', '10000'],
  rebuild: ['--rounds', '100'],
  'crash-points': ['--crashes', '100'],
  keeping: ['--crashes', '100'],
  'keeping-s3': ['--crashes', '100', '--s3', '--archivers', '2'],
  's3-memory': [],
  'export-memory': [],
  copying: ['--crashes', '100'],
  erasure: ['--crashes', '100'],
  damage: ['--rounds', '5'],
  'tail-memory': [],
  'million-events': [],
  projectors: [],
  'server-fuzz': ['--seconds', '3600'],
  'server-streams': [],
  'server-stalls': [],
  'server-kill': ['--kills', '20'],
};

const named = process.argv.slice(2);
const unknown = named.find((name) => !(name in RIGS));
if (unknown !== undefined) {
  console.error(`There is no rig ${unknown}; choose from ${Object.keys(RIGS).join(', ')}`);
  process.exit(2);
}
const failed: string[] = [];
for (const name of named.length > 0 ? named : Object.keys(RIGS)) {
  console.error(`\n${name}`);
  const script = new URL('./run.js', import.meta.url).pathname;
  if ((await runVisibly(process.execPath, [script, `faults/${name.replace(/-s3$/, '')}`, ...RIGS[name]!])) !== 0)
    failed.push(name);
}
console.log(failed.length === 0 ? '\nNothing acknowledged was lost.' : `\nFailed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
