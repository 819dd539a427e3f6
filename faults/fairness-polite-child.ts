/**
 * Ten polite tenants, each at a steady rate regardless of response times (open loop). `--url --keys a,b,… --rate N
 * --seconds S`, after two seconds that do not count. With `--rate 0` it sends as fast as replies arrive, which measures
 * the capacity. Times count from the moment a request was due.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { quantile, Sender, takePriority } from './fairness-load.ts';
import { runEvent } from './run-event.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    keys: { type: 'string' },
    rate: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '5' },
  },
});
const SOCKETS = 64;
/** The number of concurrent requests when the capacity is measured. */
const CLOSED_LOOP = 32;
const TICK_MS = 2;
const LATE_MS = 10_000;

takePriority();
const rate = Number(values.rate);
const senders = values.keys!.split(',').map((key) => new Sender(values.url!, key, SOCKETS));
const times: number[] = [];
const statuses = new Map<number, number>();
let number = 0;
let answered = 0;
const WARM_UP_MS = rate > 0 ? 2_000 : 0;
const began = performance.now();
const countedFrom = began + WARM_UP_MS;
const until = countedFrom + Number(values.seconds) * 1_000;

/** Appends to and reads a run, and reads and writes a record, in turn. */
async function askOnce(due: number): Promise<void> {
  const n = number++;
  const at = n % senders.length;
  const sender = senders[at]!;
  const round = Math.floor(n / senders.length);
  const run = `run-${round % 20}`;
  const { status } = await [
    () => sender.send('POST', '/v1/events', JSON.stringify({ ...runEvent(run), tenantId: `polite-${at}` })),
    () => sender.send('GET', `/v1/runs/${run}/events?limit=5`),
    () => sender.send('PUT', `/v1/kv/key-${round % 50}`, '{"fields":{"a":"1"}}'),
    () => sender.send('GET', `/v1/kv/key-${round % 50}`),
  ][round % 4]!();
  answered++;
  if (due < countedFrom) return;
  times.push(performance.now() - due);
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

async function closedLoop(): Promise<void> {
  while (performance.now() < until) await askOnce(performance.now());
}

async function openLoop(): Promise<number> {
  let sent = 0;
  while (performance.now() < until) {
    const due = Math.floor(((Math.min(performance.now(), until) - began) / 1_000) * rate);
    for (; sent < due; sent++) void askOnce(began + (sent / rate) * 1_000);
    await sleep(TICK_MS);
  }
  const late = performance.now() + LATE_MS;
  while (answered < sent && performance.now() < late) await sleep(20);
  return sent;
}

let sent = 0;
if (rate > 0) sent = await openLoop();
else await Promise.all(Array.from({ length: CLOSED_LOOP }, closedLoop));
const seconds = (rate > 0 ? Number(values.seconds) : (performance.now() - began) / 1_000) || 1;
// A reply that arrives too late counts as lost.
const good = [200, 201, 404].reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0);
const found = {
  sent,
  rate: good / seconds,
  p50: quantile(times, 0.5),
  p99: quantile(times, 0.99),
  most: quantile(times, 1),
  statuses: Object.fromEntries(statuses),
};
process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0));
