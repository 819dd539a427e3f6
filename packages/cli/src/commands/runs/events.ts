/** `runs events` and `runs state`: show the events of a run, and its state after any event. */
import {
  blameRun,
  type FetchOptions,
  invalidArgument,
  type RunEventRecord,
  type RunStore,
  TidemarkError,
} from '@tidemark/core';
import { defineCommand } from '../../command.ts';
import { follow } from '../../follow.ts';
import { integer, one, text, texts, toggle, withDefault } from '../../options.ts';
import type { View } from '../../output.ts';
import { EVENTS } from './views.ts';

const RUN = one('id of the run');

const events = defineCommand({
  name: 'runs events',
  summary: 'Show the events of a run',
  effect: 'ro',
  args: { run: RUN },
  options: {
    follow: toggle('keep showing new events as they are stored', 'f'),
    afterSeq: withDefault(integer('seq', 'only events after this sequence'), 0),
    beforeSeq: integer('seq', 'only events before this sequence', 1),
    reverse: toggle('newest events first'),
    tail: integer('n', 'only the last n events', 1),
    type: texts('type', 'only events of this type'),
    step: texts('step', 'only events of this step'),
    failed: toggle('only failures'),
  },
  examples: [
    { line: 'runs events order-42', shows: '"eventType":"RunStarted"' },
    { line: 'runs events order-7 --failed', shows: 'CARD_DECLINED' },
    { line: 'runs events order-42 --tail 2 -o table', shows: 'StepStarted' },
    { line: 'runs events order-42 --after-seq 2 --step charge', shows: '"runSeq":3' },
    { line: 'runs events order-42 --reverse --before-seq 3', shows: '"runSeq":2' },
    { line: 'runs events nope', shows: 'RUN_NOT_FOUND', exit: 3 },
  ],
  async run(context) {
    const { store, out, args, options } = context;
    const { runs } = await store();
    const isShown = (event: RunEventRecord) =>
      (options.type.length === 0 || options.type.includes(event.eventType)) &&
      (options.step.length === 0 || (event.stepId !== undefined && options.step.includes(event.stepId))) &&
      (!options.failed || event.eventType.endsWith('Failed'));
    const afterSeq = await startAfter(runs, args.run, options);
    if (options.follow) {
      if (options.reverse) throw invalidArgument('--reverse', 'absent with --follow', true);
      if (options.beforeSeq !== undefined)
        throw invalidArgument('--before-seq', 'absent with --follow', options.beforeSeq);
      return follow(context, {
        from: (cursor, signal) =>
          runs.tail(args.run, { afterSeq: cursor === undefined ? afterSeq : Number(cursor), signal }),
        cursorOf: ({ runSeq }) => String(runSeq),
        isShown,
        view: EVENTS,
        resumeWith: '--after-seq',
      });
    }
    // Reading an unknown run yields no events, so the run's existence is checked separately.
    if ((await runs.headSeq(args.run)) === 0)
      throw new TidemarkError('RUN_NOT_FOUND', `There is no run ${JSON.stringify(args.run)}`, { runId: args.run });
    await out.list(
      filtered(runs.readEvents(args.run, { afterSeq, ...backwards(options) }), isShown),
      EVENTS,
      `No events of run ${args.run} found.`,
    );
    return undefined;
  },
});

/** Omits options that were not set, because older servers do not know them. */
function backwards({ beforeSeq, reverse }: { beforeSeq: number | undefined; reverse: boolean }): FetchOptions {
  return { ...(beforeSeq === undefined ? {} : { beforeSeq }), ...(reverse ? { order: 'newest' } : {}) };
}

/** Returns the sequence after which to read. `--tail` counts stored events before any filter is applied. */
async function startAfter(
  runs: RunStore,
  runId: string,
  { afterSeq, tail }: { afterSeq: number; tail: number | undefined },
) {
  return tail === undefined ? afterSeq : Math.max(afterSeq, (await runs.headSeq(runId)) - tail);
}

async function* filtered<T>(rows: AsyncIterable<T>, isShown: (row: T) => boolean): AsyncGenerator<T, void, undefined> {
  for await (const row of rows) if (isShown(row)) yield row;
}

interface BlamedPath {
  path: string;
  value: unknown;
  runSeq: number;
}

const BLAME: View<BlamedPath> = {
  columns: [
    { title: 'PATH', of: ({ path }) => path },
    { title: 'VALUE', of: ({ value }) => ({ json: value }) },
    { title: 'SEQ', of: ({ runSeq }) => `#${runSeq}` },
  ],
  id: ({ path }) => path,
};

const stateCommand = defineCommand({
  name: 'runs state',
  summary: 'Show the state of a run, now or after any of its events',
  details: 'With --blame, shows each value with the sequence of the event that last wrote it.',
  effect: 'ro',
  args: { run: RUN },
  options: {
    at: integer('seq', 'state after this event', 1),
    path: withDefault(text('pointer', 'only this part, as a JSON Pointer: /steps/0/status'), ''),
    blame: toggle('show which event wrote each value'),
  },
  examples: [
    { line: 'runs state order-42', shows: '"status":"RUNNING"' },
    { line: 'runs state order-7 --at 2 --path /steps/0/status', shows: 'RUNNING' },
    {
      line: 'runs state order-7 --blame --path /steps/0',
      shows: '"path":"/steps/0/status","value":"FAILED","runSeq":3',
    },
  ],
  async run({ store, out, args, options, longCall }) {
    const opened = await store();
    const at = { ...longCall, ...(options.at === undefined ? {} : { atSeq: options.at }) };
    const snapshot = await opened.runs.projectSnapshot(args.run, at);
    if (options.blame) {
      const blamed = Object.entries(await blameRun(opened, args.run, at))
        .filter(([path]) => path === options.path || path.startsWith(`${options.path}/`))
        .map(([path, runSeq]) => ({ path, value: valueAt(snapshot, path), runSeq }))
        .filter(({ value }) => typeof value !== 'object' || value === null);
      await out.list(blamed, BLAME, `No event wrote anything under ${options.path}.`);
      return;
    }
    const value = valueAt(snapshot, options.path);
    if (value === undefined)
      throw new TidemarkError('NOT_FOUND', `The state of run ${args.run} has no ${options.path}`);
    await out.raw(`${out.form === 'jsonl' ? JSON.stringify(value) : JSON.stringify(value, null, 2)}\n`);
  },
});

function valueAt(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce<unknown>((from, name) => {
    const member = name.replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof from === 'object' && from !== null && Object.hasOwn(from, member)
      ? (from as Record<string, unknown>)[member]
      : undefined;
  }, value);
}

export const runEventCommands = [events, stateCommand];
