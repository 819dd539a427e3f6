/** `history` and `replay`: show the events of a trace, from any store that has the three required methods. */

import type { Store, StoredEvent } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { at, inShort } from '../cells.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { integer, one, seconds, text, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { loadStateStore } from '../state-store.ts';

const VIEW: View<StoredEvent> = {
  columns: [
    { title: 'WHEN', of: ({ ts }) => at(ts * 1000) },
    { title: 'KIND', of: ({ kind }) => kind, width: 18 },
    { title: 'NODE', of: ({ nodeName, nodeId }) => nodeName ?? nodeId, width: 16 },
    { title: 'PAYLOAD', of: ({ payload }) => inShort(payload) },
  ],
  id: ({ eventId, traceId }) => eventId ?? traceId ?? '',
  json: sorted,
};

const TRACE = one('id of the trace');
const SOURCE = {
  tail: integer('n', 'only the last n events', 1),
  stateStore: text('module#factory', 'your own store: a module and the function that creates it, sync or async'),
};

type Source = { tail: number | undefined; stateStore: string | undefined };

/** Loads the requested events. A store loaded from `--state-store` is closed before they are shown. */
async function loadEvents({ args, options, store }: CommandContext<{ trace: string }, Source>): Promise<StoredEvent[]> {
  const events =
    options.stateStore === undefined
      ? await ownHistory(await store(), args.trace)
      : await foreignHistory(options.stateStore, args.trace);
  return options.tail === undefined ? events : events.slice(-options.tail);
}

function ownHistory(store: Store, traceId: string): Promise<StoredEvent[]> {
  return store.agents.loadHistory(traceId);
}

async function foreignHistory(stateStore: string, traceId: string): Promise<StoredEvent[]> {
  const source = await loadStateStore(stateStore);
  try {
    return await source.loadHistory(traceId);
  } finally {
    await source.close();
  }
}

const history = defineCommand({
  name: 'history',
  summary: 'Show the events of a trace',
  details: 'For an unknown trace, prints nothing and exits with code 0.',
  effect: 'ro',
  args: { trace: TRACE },
  options: SOURCE,
  examples: [
    { line: 'history trace-7', shows: '"kind":"node_start"' },
    { line: 'history trace-7 --tail 1', shows: 'node_success' },
    { line: 'history trace-7 --state-store ./stores.js#createStore', shows: '"nodeName":"fetch"' },
  ],
  async run(context) {
    const { trace } = context.args;
    await context.out.list(await loadEvents(context), VIEW, `Trace ${trace} has no events.`);
  },
});

const replay = defineCommand({
  name: 'replay',
  summary: 'Show the events of a trace one by one',
  effect: 'ro',
  args: { trace: TRACE },
  options: { ...SOURCE, delay: withDefault(seconds('seconds', 'delay after each event'), 0) },
  examples: [
    { line: 'replay trace-7', shows: 'node_success' },
    { line: 'replay trace-7 --tail 2 --delay 0.1', shows: 'node_success' },
  ],
  async run(context) {
    const { out, io, args, options } = context;
    const events = await loadEvents(context);
    await out.note(`Replaying ${events.length} event${events.length === 1 ? '' : 's'} of trace ${args.trace}.`);
    await out.follow(paced(events, options.delay * 1000, io.signal), VIEW);
    return io.signal.aborted ? EXIT.interrupted : EXIT.ok;
  },
});

async function* paced(events: readonly StoredEvent[], delayMs: number, signal: AbortSignal) {
  for (const event of events) {
    if (signal.aborted) return;
    yield event;
    if (delayMs > 0) await sleep(delayMs, signal);
  }
}

/** Sorts the members of every object, so that two outputs can be compared as text. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}

export const historyCommands = [history, replay];
