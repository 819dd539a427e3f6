/**
 * `npm run test:matrix`: the whole conformance kit on PostgreSQL in every combination of version, partitions, row-level
 * security and pooler and with tenants on two and four servers, on Redis and Valkey and on NATS in every version, alone and as clusters, over HTTP on PostgreSQL,
 * between clients and servers of different versions, and its cases about artifacts with the bytes in Ceph. Arguments
 * narrow it down: `npm run test:matrix -- "PostgreSQL 14"`. `npm run test:matrix -- install` tests the packed packages
 * instead, and `npm run test:matrix -- adapters` compares the adapters for frameworks with the SDKs in 1 000 call
 * sequences per engine. `npm run test:matrix -- python` tests the Python client with LangGraph for Python, and
 * `npm run test:matrix -- stranger` runs everything that a new reader can type.
 */

import {
  ALL_CASES,
  type CaseResult,
  type ConformanceCase,
  runConformance,
  type StoreUnderTest,
  sharesStore,
} from '@tidemark/conformance';
import * as dynamodb from '../packages/dynamodb/test/kit-parts.ts';
import * as nats from '../packages/nats/test/kit-parts.ts';
import { SETTINGS as NATS_SETTINGS } from '../packages/nats/test/servers.ts';
import { allCombinations, describeCombination, startCombination } from '../packages/postgres/test/combinations.ts';
import { startPlaced } from '../packages/postgres/test/placed.ts';
import * as redis from '../packages/redis/test/kit-parts.ts';
import * as s3 from '../packages/s3/test/kit-parts.ts';
import * as http from '../packages/server/test/kit-parts.ts';
import { testAdapters } from './adapters/matrix.ts';
import { PAIRINGS } from './compatibility/combinations.ts';
import { testInstallation } from './install/matrix.ts';
import { followStranger } from './install/stranger.ts';
import { testPython } from './python/matrix.ts';
import { startOwnServer } from './servers/index.ts';

/** Servers to run the kit on. */
interface Combination {
  title: string;
  /**
   * Cases that cannot pass there, each with the reason. They are run and must fail, so that outdated reasons are
   * noticed.
   */
  declared?: Readonly<Record<string, string>>;
  /** Only these cases. Default: all. */
  cases?: readonly ConformanceCase[];
  start(): Promise<{ version: string; openUnderTest(): Promise<StoreUnderTest>; stop(): Promise<void> }>;
}

const COMBINATIONS: Combination[] = [
  ...allCombinations().map((it) => ({ title: describeCombination(it), start: () => startCombination(it) })),
  ...[2, 4].map((count) => ({ title: `PostgreSQL, tenants on ${count} servers`, start: () => startPlaced(count) })),
  ...Object.entries(redis.SETTINGS).map(([title, start]) => ({
    title,
    start: async () => {
      const setting = await start();
      return { ...setting, openUnderTest: () => redis.openUnderTest(setting.url) };
    },
  })),
  ...Object.entries(NATS_SETTINGS).map(([title, start]) => ({
    title,
    start: async () => {
      const setting = await start();
      return { ...setting, openUnderTest: () => nats.openUnderTest(setting.options) };
    },
  })),
  {
    title: 'Over HTTP on PostgreSQL as installed',
    start: async () => {
      const server = await startOwnServer('postgres');
      return { ...server, openUnderTest: async () => http.openUnderTest(await http.onPostgres(server.url)) };
    },
  },
  ...Object.entries(dynamodb.SETTINGS).map(([title, start]) => ({
    title,
    start: async () => {
      const setting = await start();
      return { ...setting, openUnderTest: () => dynamodb.openUnderTest(setting.url) };
    },
  })),
  ...Object.entries(s3.SETTINGS).map(([title, start]) => ({ title, start, cases: s3.BYTE_CASES })),
  ...PAIRINGS,
];

interface Line {
  combination: string;
  version: string;
  passed: number;
  failed: CaseResult[];
  declared: number;
  seconds: number;
}

const CONCURRENCY = 4;

async function test(combination: Combination): Promise<Line> {
  const began = performance.now();
  const setting = await combination.start();
  try {
    const open = () => setting.openUnderTest();
    const { cases: chosen = ALL_CASES } = combination;
    const shared = chosen.filter(sharesStore);
    const alone = chosen.filter((it) => !sharesStore(it));
    const reports = [
      await runConformance(open, { cases: shared, concurrency: CONCURRENCY }),
      await runConformance(open, { cases: alone }),
    ];
    const cases = reports.flatMap((report) => report.cases);
    return {
      combination: combination.title,
      version: setting.version,
      passed: cases.filter(({ status }) => status === 'passed').length,
      failed: unexpected(cases, combination.declared ?? {}),
      declared: Object.keys(combination.declared ?? {}).length,
      seconds: (performance.now() - began) / 1000,
    };
  } finally {
    await setting.stop();
  }
}

/** Returns the cases that failed and are not declared, and declared ones that did not fail. */
function unexpected(cases: readonly CaseResult[], declared: Readonly<Record<string, string>>): CaseResult[] {
  const failed = cases.filter(({ id, status }) => status === 'failed' && !Object.hasOwn(declared, id));
  // Model-based cases run random commands, which may miss the difference.
  const certain = Object.keys(declared).filter((id) => !id.startsWith('model/'));
  const passed = certain.filter((id) => !cases.some((it) => it.id === id && it.status === 'failed'));
  return [...failed, ...passed.map((id) => ({ id, error: 'is declared to fail here, and does not' }) as CaseResult)];
}

/** A combination that cannot be started counts as failed. */
async function testOrFail(combination: Combination): Promise<Line> {
  try {
    return await test(combination);
  } catch (error) {
    const failure = { id: 'setting', error: error instanceof Error ? error.message : String(error) } as CaseResult;
    return { combination: combination.title, version: '?', passed: 0, failed: [failure], declared: 0, seconds: 0 };
  }
}

const wanted = process.argv.slice(2);
if (wanted[0] === 'adapters') process.exit(await testAdapters());
if (wanted[0] === 'python') process.exit(testPython());
if (wanted[0] === 'stranger') process.exit((await followStranger()) > 0 ? 1 : 0);
if (wanted[0] === 'install') process.exit((await testInstallation()) > 0 ? 1 : 0);
const combinations = COMBINATIONS.filter(({ title }) => wanted.every((part) => title.includes(part)));
const lines: Line[] = [];
for (const [at, combination] of combinations.entries()) {
  const line = await testOrFail(combination);
  lines.push(line);
  const { version, passed, failed, declared, seconds } = line;
  console.log(
    `${at + 1}/${combinations.length}  ${line.combination} (${version}): ${passed} passed, ${failed.length} failed, ${declared} declared to fail, ${seconds.toFixed(0)} s`,
  );
  for (const { id, error } of failed) console.log(`      ${id}: ${error}`);
}

const width = Math.max(0, ...lines.map(({ combination }) => combination.length));
console.log(`\n${'combination'.padEnd(width)}  server    passed  failed`);
for (const { combination, version, passed, failed } of lines) {
  const numbers = `${String(passed).padStart(6)}  ${String(failed.length).padStart(6)}`;
  console.log(`${combination.padEnd(width)}  ${version.slice(0, 8).padEnd(8)}  ${numbers}`);
}
const failures = lines.reduce((sum, { failed }) => sum + failed.length, 0);
console.log(
  `${lines.length} combinations, ${lines.filter(({ failed }) => failed.length === 0).length} without a failure`,
);
// Exits explicitly, because failed cases leave timers and sockets behind, and between versions some cases must fail.
process.exit(failures > 0 || lines.length === 0 ? 1 : 0);
