/**
 * Wrong and heavy requests to every route by every role: anonymous, reader, tenant, tenant's admin and operator.
 * Allowed are only documented replies, no server error except 503 with a reason, an event loop without long delays, and
 * memory within the budget. `--seconds 60 --seed N --url sqlite:…`; `--rounds 300` stops after that many requests to
 * each route instead.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { newSeed } from './random.ts';
import { type FuzzReport, fuzzServer } from './server-fuzzing.ts';
import { IdleProcess, RolesServer } from './server-roles.ts';

const MEGABYTE = 1024 * 1024;
/** In addition to the delay of an idle process on the same machine. */
const MAX_DELAY_MS = 200;
/** The memory of a server besides the budget: its code, the store's caches and young garbage. */
const BASE_BYTES = 512 * MEGABYTE;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(newSeed() | 0) },
    url: { type: 'string' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'tidemark-fuzz-'));
const server = await RolesServer.start(values.url ?? `sqlite:${join(folder, 'store.db')}`);
const idle = await IdleProcess.start();
try {
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  const until = rounds === undefined ? Date.now() + Number(values.seconds) * 1_000 : undefined;
  const fuzz = { url: server.url, seed: Number(values.seed), heavy: true } as const;
  const reports = await Promise.all(
    Object.entries(server.tokens).map(async ([role, token]) => ({
      role,
      report: await fuzzServer({ ...fuzz, role, token, ...(until === undefined ? { rounds } : { until }) }),
    })),
  );
  const problems = reports.flatMap(({ role, report }) => report.problems.map((it) => `${role}: ${it}`));
  for (const { role, report } of reports) console.log(`server-fuzz: ${role}: ${summary(report)}`);
  problems.push(...(await measured()));
  for (const problem of problems) console.error(problem);
  const requests = reports.reduce((sum, { report }) => sum + report.requests, 0);
  console.log(`server-fuzz: ${requests} requests, ${problems.length} problems, seed ${values.seed}`);
  if (problems.length > 0) process.exitCode = 1;
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}

function summary({ requests, statuses }: FuzzReport): string {
  const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  return `${requests} requests, ${counted.join(', ')}`;
}

/** Prints the server's measurements and returns the problems. */
async function measured(): Promise<string[]> {
  const [found, idleMs] = [await server.measure(), await idle.end()];
  if (!found) return ['the server is gone'];
  const { delayMs, heapBytes, residentBytes, heapLimitBytes } = found;
  const headers = { authorization: `Bearer ${server.tokens.operator}` };
  const page = await (await fetch(`${server.url}/metrics`, { headers })).text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(page)?.[1] ?? Number.NaN);
  const budgetBytes = gauge('tidemark_memory_budget_bytes');
  const mb = (bytes: number) => `${Math.round(bytes / MEGABYTE)} MB`;
  const ms = (time: number) => `${time.toFixed(1)} ms`;
  console.log(
    `server-fuzz: event loop ${ms(delayMs.median)} median, ${ms(delayMs.p99)} p99, ${ms(delayMs.p999)} p99.9, ${ms(delayMs.most)} at most (an idle process beside it: ${ms(idleMs)} p99.9); ` +
      `heap ${mb(heapBytes)} of ${mb(heapLimitBytes)}, resident ${mb(residentBytes)}, budget ${mb(budgetBytes)}, ` +
      `${gauge('tidemark_memory_refusals_total')} refused for it, ${gauge('tidemark_memory_reserved_bytes')} bytes reserved at the end`,
  );
  const problems: string[] = [];
  if (delayMs.p999 > MAX_DELAY_MS + idleMs) problems.push(`the event loop was late by ${ms(delayMs.p999)} (p99.9)`);
  if (!(residentBytes <= budgetBytes + BASE_BYTES)) problems.push(`the server grew to ${mb(residentBytes)}`);
  return problems;
}
