/** `sessions`: agent sessions with their tasks, updates, steering and traces. */
import { randomUUID } from 'node:crypto';
import {
  type PlannerEvent,
  type SessionInfo,
  type StateUpdate,
  type SteeringEvent,
  type SteeringEventType,
  type TaskState,
  TidemarkError,
} from '@tidemark/core';
import { readObject } from '../arguments.ts';
import { at, inShort, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { follow } from '../follow.ts';
import { choice, integer, one, required, text, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';
import { atLeast, countsText, MAX_COUNTED, MAX_TRACES, type SessionSummary, summarise } from './session-summary.ts';

const STEERING_TYPES = [
  ...['INJECT_CONTEXT', 'REDIRECT', 'CANCEL', 'PRIORITIZE', 'PAUSE', 'RESUME', 'APPROVE', 'REJECT', 'USER_MESSAGE'],
] as readonly SteeringEventType[];
const SESSION = one('id of the session');
const TRACE = one('id of the trace');

const SESSIONS: View<SessionInfo> = {
  columns: [
    { title: 'SESSION', of: ({ sessionId }) => sessionId },
    { title: 'CREATED', of: ({ createdAt }) => at(createdAt) },
    { title: 'ACTIVE', of: ({ lastActiveAt }) => at(lastActiveAt) },
  ],
  id: ({ sessionId }) => sessionId,
};

const TASKS: View<TaskState> = {
  columns: [
    { title: 'TASK', of: ({ taskId }) => taskId },
    { title: 'STATUS', of: ({ status }) => state(status) },
    { title: 'TYPE', of: ({ taskType }) => taskType },
    { title: 'PRIORITY', of: ({ priority }) => priority },
    { title: 'UPDATED', of: ({ updatedAt }) => at(updatedAt) },
    { title: 'DESCRIPTION', of: ({ description }) => description },
  ],
  id: ({ taskId }) => taskId,
};

const UPDATES: View<StateUpdate> = {
  columns: [
    { title: 'WHEN', of: ({ createdAt }) => at(createdAt), width: 8 },
    { title: 'TASK', of: ({ taskId }) => taskId, width: 14 },
    { title: 'TYPE', of: ({ updateType }) => updateType, width: 13 },
    { title: 'CONTENT', of: ({ content }) => inShort(content) },
  ],
  id: ({ updateId }) => updateId,
};

const STEERING: View<SteeringEvent> = {
  columns: [
    { title: 'WHEN', of: ({ createdAt }) => at(createdAt) },
    { title: 'TASK', of: ({ taskId }) => taskId },
    { title: 'TYPE', of: ({ eventType }) => eventType },
    { title: 'SOURCE', of: ({ source }) => source },
    { title: 'PAYLOAD', of: ({ payload }) => inShort(payload) },
  ],
  id: ({ eventId }) => eventId,
};

const PLANNER_EVENTS: View<PlannerEvent> = {
  columns: [
    { title: 'STEP', of: ({ trajectoryStep }) => trajectoryStep },
    { title: 'TYPE', of: ({ eventType }) => eventType },
    { title: 'NODE', of: ({ nodeName }) => nodeName },
    { title: 'MS', of: ({ latencyMs }) => latencyMs },
    { title: 'THOUGHT', of: ({ thought, error }) => error ?? thought },
  ],
  id: ({ eventId, eventType }) => eventId ?? eventType,
};

const list = defineCommand({
  name: 'sessions list',
  summary: 'List sessions',
  effect: 'ro',
  options: { limit: limitOption },
  examples: [{ line: 'sessions list', shows: 'session-1' }],
  async run({ store, out, options }) {
    const { agents } = await store();
    await out.list(
      upTo(options.limit, (page) => agents.listSessions(page), out),
      SESSIONS,
      'There are no sessions.',
    );
  },
});

const SUMMARY: View<SessionSummary> = {
  columns: [
    { title: 'SESSION', of: ({ sessionId }) => sessionId },
    { title: 'ACTIVE', of: ({ lastActiveAt }) => at(lastActiveAt) },
    { title: 'TASKS', of: ({ tasks }) => countsText(tasks) },
    { title: 'UPDATES', of: ({ updates }) => atLeast(updates) },
    { title: 'STEERING', of: ({ steering }) => atLeast(steering) },
    { title: 'PAUSES', of: ({ pauses }) => countsText(pauses) },
    { title: 'ARTIFACTS', of: ({ artifacts }) => atLeast(artifacts) },
    { title: 'TRACES', of: ({ traces }) => traces.join(' ') },
  ],
  id: ({ sessionId }) => sessionId,
};

const show = defineCommand({
  name: 'sessions show',
  summary: 'Show what a session holds: tasks, updates, steering, pauses, artifacts and traces',
  details: `Counts up to ${MAX_COUNTED} items of each kind, and shows the ${MAX_TRACES} most recent traces.`,
  effect: 'ro',
  args: { session: SESSION },
  examples: [
    { line: 'sessions show session-1', shows: '"tasks":{"RUNNING":1}' },
    { line: 'sessions show nobody', shows: 'NOT_FOUND', exit: 3 },
  ],
  async run({ store, out, args }) {
    const summary = await summarise(await store(), args.session);
    if (!summary) throw new TidemarkError('NOT_FOUND', `There is no session ${JSON.stringify(args.session)}`);
    await out.show(summary, SUMMARY);
  },
});

const tasks = defineCommand({
  name: 'sessions tasks',
  summary: 'List the tasks of a session in order of creation',
  effect: 'ro',
  args: { session: SESSION },
  examples: [{ line: 'sessions tasks session-1', shows: '"taskId":"task-1"' }],
  async run({ store, out, args }) {
    const { agents } = await store();
    await out.list(agents.readTasks(args.session), TASKS, `Session ${args.session} has no tasks.`);
  },
});

const PART = {
  task: text('id', 'only of this task'),
  sinceId: text('id', 'only entries after this id'),
  limit: withDefault(integer('n', 'maximum number to show', 1), 500),
};

function since(sinceId: string | undefined): { sinceId?: string } {
  return sinceId === undefined ? {} : { sinceId };
}

const updates = defineCommand({
  name: 'sessions updates',
  summary: 'Show the updates of a session',
  effect: 'ro',
  args: { session: SESSION },
  options: { ...PART, follow: toggle('keep showing new updates as they are stored', 'f') },
  examples: [
    { line: 'sessions updates session-1', shows: '"updateType":"THINKING"' },
    { line: 'sessions updates session-1 --since-id update-1', shows: '"updateId":"update-2"' },
  ],
  async run(context) {
    const { store, out, args, options } = context;
    const { agents } = await store();
    const task = options.task === undefined ? {} : { taskId: options.task };
    if (options.follow) {
      return follow(context, {
        from: (cursor, signal) =>
          agents.tailUpdates(args.session, { ...task, ...since(cursor ?? options.sinceId), signal }),
        cursorOf: ({ updateId }) => updateId,
        view: UPDATES,
        resumeWith: '--since-id',
      });
    }
    const page = await agents.listUpdatesPage(args.session, {
      ...task,
      ...since(options.sinceId),
      limit: options.limit,
    });
    if (!page.cursorFound)
      await out.note(`${options.sinceId} is not an update of this session; showing from the start.`);
    await out.list(page.items, UPDATES, `No updates of session ${args.session} found.`);
    return undefined;
  },
});

const steering = defineCommand({
  name: 'sessions steering',
  summary: 'Show the steering events of a session',
  effect: 'ro',
  args: { session: SESSION },
  options: PART,
  examples: [{ line: 'sessions steering session-1', shows: '"eventType":"USER_MESSAGE"' }],
  async run({ store, out, args, options: { task, sinceId, limit } }) {
    const { agents } = await store();
    const events = await agents.listSteering(args.session, {
      limit,
      ...(task === undefined ? {} : { taskId: task }),
      ...since(sinceId),
    });
    await out.list(events, STEERING, `Session ${args.session} has no steering events.`);
  },
});

const steer = defineCommand({
  name: 'sessions steer',
  summary: 'Steer a task of a session',
  details: 'With --id the command can be retried safely.',
  effect: 'rw',
  args: { session: SESSION, task: one('id of the task') },
  options: {
    type: required(choice(STEERING_TYPES, 'type of the steering event')),
    data: text('json', 'payload: JSON, @file, or - for stdin'),
    id: text('id', 'id of the event (default: random)'),
  },
  examples: [
    {
      line: `sessions steer session-1 task-1 --type USER_MESSAGE --data '{"text":"hurry"}'`,
      shows: '"eventType":"USER_MESSAGE"',
    },
  ],
  async run({ store, out, io, args, options, dryRun }) {
    const { agents } = await store();
    const payload = await readObject(options.data, '--data', io);
    const event: SteeringEvent = {
      sessionId: args.session,
      taskId: args.task,
      eventId: options.id ?? randomUUID(),
      eventType: options.type,
      source: 'cli',
      createdAt: new Date().toISOString(),
      ...(payload === undefined ? {} : { payload }),
    };
    if (dryRun) return out.report({ dryRun: true, would: 'steer', ...event }, event.eventId);
    await agents.saveSteering(event);
    await out.show(event, STEERING);
  },
});

const traces = defineCommand({
  name: 'sessions traces',
  summary: 'List the traces of a session, most recent first',
  effect: 'ro',
  args: { session: SESSION },
  options: { limit: limitOption },
  examples: [{ line: 'sessions traces session-1 -o id', shows: 'trace-7' }],
  async run({ store, out, args, options }) {
    const { agents } = await store();
    const view: View<{ traceId: string }> = {
      columns: [{ title: 'TRACE', of: ({ traceId }) => traceId }],
      id: ({ traceId }) => traceId,
    };
    const found = await agents.listTraces(args.session, options.limit);
    await out.list(
      found.map((traceId) => ({ traceId })),
      view,
      `Session ${args.session} has no traces.`,
    );
  },
});

const trajectory = defineCommand({
  name: 'sessions trajectory',
  summary: 'Show the trajectory of a trace',
  effect: 'ro',
  args: { session: SESSION, trace: TRACE },
  examples: [{ line: 'sessions trajectory session-1 trace-7', shows: '"query"' }],
  async run({ store, out, args }) {
    const { agents } = await store();
    const found = await agents.getTrajectory(args.trace, args.session);
    if (!found)
      throw new TidemarkError('NOT_FOUND', `Session ${args.session} has no trajectory of trace ${args.trace}`);
    await out.raw(`${out.form === 'jsonl' ? JSON.stringify(found) : JSON.stringify(found, null, 2)}\n`);
  },
});

const plannerEvents = defineCommand({
  name: 'sessions planner-events',
  summary: 'Show the planner events of a trace',
  effect: 'ro',
  args: { trace: TRACE },
  examples: [{ line: 'sessions planner-events trace-7', shows: '"eventType":"step_start"' }],
  async run({ store, out, args }) {
    const { agents } = await store();
    await out.list(agents.readPlannerEvents(args.trace), PLANNER_EVENTS, `Trace ${args.trace} has no planner events.`);
  },
});

const remove = defineCommand({
  name: 'sessions delete',
  summary: 'Delete a session with its tasks, updates, steering and traces',
  details: 'Its flow events and artifacts are kept; `tidemark erase session` removes those too.',
  effect: 'destructive',
  args: { session: SESSION },
  examples: [{ line: 'sessions delete session-1 --yes', shows: '"tasks":1' }],
  async run({ store, out, args, dryRun, confirm, longCall }) {
    const { agents } = await store();
    const found = await agents.listTasks(args.session);
    if (dryRun)
      return out.report({ dryRun: true, would: 'delete', sessionId: args.session, tasks: found.length }, args.session);
    await confirm({
      action: `delete the session ${args.session} with its ${found.length} tasks`,
      answer: args.session,
    });
    await out.report(
      { sessionId: args.session, ...(await agents.deleteSession(args.session, longCall)) },
      args.session,
    );
  },
});

export const sessionCommands = [list, show, tasks, updates, steering, steer, traces, trajectory, plannerEvents, remove];
