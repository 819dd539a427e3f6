/** Many live streams over plain sockets. `--url --streams --runs`; prints how many events each of them received. */
import { connect } from 'node:net';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { url: { type: 'string' }, streams: { type: 'string' }, runs: { type: 'string' } },
});
const { hostname, port } = new URL(values.url!);
/** The number of connections opened at a time. */
const AT_A_TIME = 50;

const counts: number[] = [];
let cutOff = 0;

function open(index: number): Promise<void> {
  counts[index] = 0;
  const run = `run-${index % Number(values.runs)}`;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET /v1/runs/${run}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`),
    );
    socket.setEncoding('latin1').on('data', (chunk) => {
      const text = String(chunk);
      if (text.includes('event: caught-up')) resolve();
      counts[index]! += text.split('event: run.event').length - 1;
    });
    socket.on('error', reject);
    socket.on('close', () => cutOff++);
  });
}

const total = Number(values.streams);
for (let start = 0; start < total; start += AT_A_TIME) {
  const batch = Array.from({ length: Math.min(AT_A_TIME, total - start) }, (_, at) => open(start + at));
  await Promise.all(batch);
}
console.log('ready');
await new Promise((resolve) => process.stdin.resume().on('end', resolve));
const found = {
  events: counts.reduce((sum, it) => sum + it, 0),
  least: Math.min(...counts),
  most: Math.max(...counts),
  cutOff,
};
process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0));
