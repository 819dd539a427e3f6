/** A process that does nothing but measure how late its event loop is: what the machine itself costs. Answers a line, ends with its input. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
console.log('ready');
for await (const _ of createInterface(process.stdin)) console.log(delay.percentile(99.9) / 1e6);
