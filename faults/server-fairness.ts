/**
 * One abusive and ten polite tenants on one server process. The polite ones send at half of the measured capacity, from
 * their own process and regardless of response times. With every kind of abuse they must keep 0.95 of their rate, and a
 * p99 of at most three times the one without. `--seconds 5 --rounds 3 --modes
 * streams,polls,scans,bodies,bulk,requests,keys`.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { ApiKeys } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';
import { SOURCE_FLAGS } from '../scripts/processes.ts';
import { quantile } from './fairness-load.ts';
import { runEvent } from './run-event.ts';
import { ServerProcess, Watcher } from './server-process.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    modes: { type: 'string', default: 'streams,polls,scans,bodies,bulk,requests,keys' },
    share: { type: 'string', default: '0.5' },
  },
});
const POLITE = 10;
const MIN_RATE = 0.95;
const MAX_P99 = 3;
/** A lower p99 is noise of the machine. */
const MIN_P99_MS = 20;
const SETTLE_MS = 2_000;
const RECORDS = 3_000;

interface Found {
  rate: number;
  p50: number;
  p99: number;
  most: number;
  statuses: Record<string, number>;
}

/** Creates keys for all tenants, and data for the abuser to scan. */
async function prepare(path: string): Promise<{ polite: string[]; abuser: string }> {
  const store = await sqliteStore(path);
  const keys = new ApiKeys(store);
  const keyOf = async (tenantId: string) =>
    (await keys.create({ name: 'rig', tenantId, scopes: ['read', 'append'] }, { by: 'rig' })).key;
  const polite = await Promise.all(Array.from({ length: POLITE }, (_, n) => keyOf(`polite-${n}`)));
  const abuser = await keyOf('abuser');
  const own = store.forTenant('abuser');
  const value = 'x'.repeat(1_000);
  const numbers = Array.from({ length: RECORDS }, (_, n) => n);
  await Promise.all(numbers.map((n) => own.kv.put(`record-${n}`, { value })));
  await Promise.all(numbers.map((n) => own.runs.appendEvent({ ...runEvent(`scan-${n}`), tenantId: 'abuser' })));
  await store.close();
  return { polite, abuser };
}

async function measure(url: string, keys: readonly string[], rate: number, seconds: number): Promise<Found> {
  const script = join(import.meta.dirname, 'fairness-polite-child.ts');
  const args = ['--url', url, '--keys', keys.join(','), '--rate', String(rate), '--seconds', String(seconds)];
  const { stdout } = await promisify(execFile)(process.execPath, [...SOURCE_FLAGS, script, ...args]);
  return JSON.parse(stdout) as Found;
}

function shown({ rate, p50, p99, most }: Found): string {
  return `${Math.round(rate)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${Math.round(most)} ms`;
}

// In memory if possible: a busy disk would hide the effect of the tenants on each other.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'tidemark-fairness-'));
const path = join(folder, 'store.db');
const { polite, abuser } = await prepare(path);
let server: ServerProcess | undefined;
const problems: string[] = [];

interface Round {
  kept: number;
  slower: number;
}

/** Measures the polite tenants alone and with the abuser, on a freshly started server. */
async function roundOf(mode: string): Promise<Round> {
  server = await ServerProcess.start(path, 0, 'server-secured-child');
  const seconds = Number(values.seconds);
  // Measured each time, since the speed of the machine may change.
  await measure(server.url, polite, 0, 2);
  const capacity = (await measure(server.url, polite, 0, 2)).rate;
  const rate = Math.floor(capacity * Number(values.share));
  const alone = await measure(server.url, polite, rate, seconds);
  const args = ['--url', server.url, '--key', abuser, '--mode', mode];
  const abuse = new Watcher<Record<string, number>>('fairness-abuser-child', args);
  await abuse.ready;
  await sleep(SETTLE_MS);
  const beside = await measure(server.url, polite, rate, seconds);
  const answers = JSON.stringify(await abuse.end());
  console.log(`${mode}: capacity ${Math.round(capacity)}/s; alone ${shown(alone)}; beside ${shown(beside)}`);
  console.log(
    `  polite ${JSON.stringify(beside.statuses)} abuser ${answers} server ${Math.round(server.residentMb)} MB`,
  );
  await server.kill();
  const slower = beside.p99 / Math.max(alone.p99, MIN_P99_MS / MAX_P99);
  return { kept: beside.rate / alone.rate, slower };
}

try {
  for (const mode of values.modes!.split(',')) {
    const rounds: Round[] = [];
    for (let round = 0; round < Number(values.rounds); round++) rounds.push(await roundOf(mode));
    const kept = quantile(
      rounds.map((it) => it.kept),
      0.5,
    );
    const slower = quantile(
      rounds.map((it) => it.slower),
      0.5,
    );
    const isFair = kept >= MIN_RATE && slower <= MAX_P99;
    if (!isFair) problems.push(mode);
    console.log(
      `${mode}: median ${kept.toFixed(2)} of the rate, p99 ${slower.toFixed(1)} times${isFair ? '' : ' UNFAIR'}`,
    );
  }
} finally {
  await server?.kill();
  rmSync(folder, { recursive: true });
}
console.log(problems.length === 0 ? 'fair in every mode' : `unfair in ${problems.join(', ')}`);
process.exit(problems.length === 0 ? 0 : 1);
