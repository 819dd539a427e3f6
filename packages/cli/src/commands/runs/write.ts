/** `runs append`, `runs fork` and `runs delete`. */
import { randomUUID } from 'node:crypto';
import { EXPIRY_LABEL, invalidArgument, type RunEventInput, TidemarkError } from '@tidemark/core';
import { readObject } from '../../arguments.ts';
import { defineCommand } from '../../command.ts';
import { integer, one, required, text, toggle, withDefault } from '../../options.ts';

const DELETED_AT_ONCE = 1_000;

const append = defineCommand({
  name: 'runs append',
  summary: 'Append an event to a run',
  details:
    'Scope and plan default to those of the run, or to `default` for a new run. With --key the command can be retried safely.',
  effect: 'rw',
  args: { run: one('id of the run') },
  options: {
    type: required(text('type', 'type of the event, such as StepCompleted')),
    data: text('json', 'payload: JSON, @file, or - for stdin'),
    step: text('step', 'step of the event'),
    attempt: withDefault(integer('n', 'logical attempt', 1), 1),
    key: text('key', 'idempotency key (default: derived from the event)'),
    expectSeq: integer('seq', 'only if the last sequence of the run is this one'),
    life: text('life', 'life of the run, or `new` to start the next life of a deleted run'),
    strict: toggle('reject an event that is not allowed in the state of the run'),
    project: text('id', 'project of a new run'),
    environment: text('id', 'environment of a new run'),
    plan: text('id', 'plan of a new run'),
    expires: text(
      'time',
      "when a new run expires: '30d' after the last event of a finished run, '1h any' in any status",
    ),
  },
  examples: [
    { line: `runs append order-42 --type StepCompleted --step charge --data '{"cents":1299}'`, shows: '"runSeq":4' },
    { line: 'runs append order-43 --type RunStarted --plan checkout --dry-run', shows: '"dryRun":true' },
    {
      line: 'runs append order-42 --type Note --data - --expect-seq 3',
      shows: '"persisted":true',
      input: '{"by":"ada"}',
    },
    { line: 'runs append order-42 --type Note --expect-seq 9', shows: 'SEQ_CONFLICT', exit: 5 },
    { line: "runs append order-45 --type RunStarted --expires '1h any'", shows: '"persisted":true' },
    { line: 'runs append order-44 --type RunStarted --life new', shows: '"persisted":true' },
    { line: 'runs append order-42 --type Note --life new', shows: 'CONFLICT', exit: 5 },
  ],
  async run({ store, out, io, args, options, settings, dryRun }) {
    const { runs, info } = await store();
    const payload = await readObject(options.data, '--data', io);
    const [first] = await runs.fetchEvents(args.run, { limit: 1 });
    const event: RunEventInput = {
      eventId: randomUUID(),
      eventType: options.type,
      emittedAt: new Date().toISOString(),
      runId: args.run,
      tenantId: settings.tenant ?? info.tenantId ?? first?.tenantId ?? 'default',
      projectId: options.project ?? first?.projectId ?? 'default',
      environmentId: options.environment ?? first?.environmentId ?? 'default',
      planId: options.plan ?? first?.planId ?? 'default',
      planVersion: first?.planVersion ?? '1',
      engineAttemptId: 1,
      logicalAttemptId: options.attempt,
      ...(options.step === undefined ? {} : { stepId: options.step }),
      ...(options.key === undefined ? {} : { idempotencyKey: options.key }),
      ...(options.expires === undefined ? {} : { labels: { [EXPIRY_LABEL]: options.expires } }),
      ...(payload === undefined ? {} : { payload }),
    };
    if (dryRun) return out.report({ dryRun: true, would: 'append', event }, event.eventId);
    const result = await runs.appendEvent(event, {
      ...(options.expectSeq === undefined ? {} : { expectedSeq: options.expectSeq }),
      ...(options.life === undefined ? {} : { life: lifeOf(options.life) }),
      ...(options.strict ? { rejectInvalidTransitions: true } : {}),
    });
    await out.report({ ...result }, result.eventId);
    if (result.payloadMatches === false)
      await out.note(`The key was already used by event ${result.runSeq} with other content; nothing was written.`);
  },
});

function lifeOf(value: string): number | 'new' {
  if (value === 'new') return value;
  if (/^[1-9]\d{0,9}$/.test(value)) return Number(value);
  throw invalidArgument('--life', '`new`, or the number of a life', value);
}

const fork = defineCommand({
  name: 'runs fork',
  summary: 'Create a run from the events of another',
  effect: 'rw',
  args: { run: one('id of the run') },
  options: {
    as: required(text('run', 'id of the new run')),
    at: integer('seq', 'copy up to this event (default: all events)', 1),
  },
  examples: [{ line: 'runs fork order-7 --at 2 --as order-7-again', shows: '"copied":2' }],
  async run({ store, out, args, options, dryRun, longCall }) {
    const { runs } = await store();
    const atSeq = options.at ?? (await runs.headSeq(args.run));
    if (dryRun)
      return out.report({ dryRun: true, would: 'fork', runId: args.run, atSeq, toRunId: options.as }, options.as);
    await out.report({ ...(await runs.forkRun(args.run, { toRunId: options.as, atSeq, ...longCall })) }, options.as);
  },
});

const remove = defineCommand({
  name: 'runs delete',
  summary: 'Delete a whole run',
  details:
    'The id stays reserved, so that a late retry cannot recreate the run. Use `runs append --life new` to reuse it.',
  effect: 'destructive',
  args: { run: one('id of the run') },
  examples: [
    { line: 'runs delete order-42 --dry-run', shows: '"would":"delete"' },
    { line: 'runs delete order-42 --yes', shows: '"deleted":true' },
    { line: 'runs delete order-42', shows: 'pass --yes', exit: 2 },
  ],
  async run({ store, out, args, dryRun, confirm, longCall }) {
    const { runs } = await store();
    const position = await runs.position(args.run);
    const events = position?.lastEventSeq ?? 0;
    if (events === 0) throw new TidemarkError('RUN_NOT_FOUND', `There is no run ${JSON.stringify(args.run)}`);
    if (dryRun) return out.report({ dryRun: true, would: 'delete', runId: args.run, events }, args.run);
    await confirm({ action: `delete the run ${args.run} with its ${events} events`, answer: args.run });
    const { life } = position!;
    const deleted = await runs.deleteRun(args.run, { expectedSeq: events, life, ...longCall });
    await out.report({ runId: args.run, deleted, events }, args.run);
  },
});

const removeExpired = defineCommand({
  name: 'runs delete-expired',
  summary: 'Delete runs that have expired',
  details:
    'For readers, an expired run is already deleted; this command frees its storage. Processes that use expiring runs also do this every 15 minutes.',
  effect: 'destructive',
  examples: [{ line: 'runs delete-expired --yes', shows: '"deleted":0' }],
  async run({ store, out, settings, dryRun, confirm, longCall }) {
    const { runs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'delete expired runs' });
    await confirm({ action: 'delete all expired runs', answer: 'expired' });
    let deleted = 0;
    let cursor: string | undefined;
    do {
      const step = await runs.deleteExpired({ ...longCall, tenantId: settings.tenant, cursor, limit: DELETED_AT_ONCE });
      deleted += step.deleted;
      cursor = step.next;
    } while (cursor !== undefined);
    await out.report({ deleted });
  },
});

export const runWriteCommands = [append, fork, remove, removeExpired];
