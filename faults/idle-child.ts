/**
 * A process that only measures the delay of its event loop, as a baseline for the machine. Replies to each line, and
 * exits when its input ends.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
console.log('ready');
for await (const _ of createInterface(process.stdin)) console.log(delay.percentile(99.9) / 1e6);
