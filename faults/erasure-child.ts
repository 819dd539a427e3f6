/**
 * A process that erases a tenant and kills itself after some steps of a part, or some milliseconds after that step.
 * Without `--part` it finishes. `--url --tenant --part --hit --delay`.
 */
import { parseArgs } from 'node:util';
import type { ErasureReport } from '@tidemark/core';
import { open } from 'tidemark';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    tenant: { type: 'string' },
    part: { type: 'string' },
    hit: { type: 'string', default: '1' },
    delay: { type: 'string', default: '0' },
  },
});

let [hits, counted] = [0, 0];

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

function onProgress({ removed }: ErasureReport): void {
  const count = removed[values.part as keyof typeof removed] ?? 0;
  if (count === counted) return;
  counted = count;
  if (++hits !== Number(values.hit)) return;
  if (values.delay === '0') die();
  else setTimeout(die, Number(values.delay));
}

const store = await open(values.url!, { timeoutMs: 15_000 });
// A kill before the first step is possible too.
if (values.part === 'start') setTimeout(die, Number(values.delay));
await store.admin.eraseTenant(values.tenant!, { onProgress });
await store.close();
