/** `runs list` and `runs show`: list runs, and show the status and steps of a single run. */
import { RUN_STATUSES, type RunFilter, type RunSnapshot } from '@tidemark/core';
import { at, durationText, state } from '../../cells.ts';
import { defineCommand } from '../../command.ts';
import { choice, choicesOf, moment, type OptionValues, one, pairs, text, toggle } from '../../options.ts';
import type { View } from '../../output.ts';
import { limitOption, upTo } from '../../pages.ts';
import { RUNS, STEPS } from './views.ts';

const FILTER = {
  status: choicesOf(RUN_STATUSES, 'status', 'only runs with this status, or with one of several: FAILED,PAUSED'),
  plan: text('id', 'only runs of this plan'),
  project: text('id', 'only runs of this project'),
  environment: text('id', 'only runs of this environment'),
  label: pairs('only runs with this label'),
  owner: text('adapter', 'only runs of this adapter, such as claude; any for all (default: runs of no adapter)'),
  parent: text('run', 'only runs started by this run'),
  since: moment('time', 'only runs created since then: a time, or how long ago'),
  quietSince: moment('time', 'only runs without an event since then'),
};

/** Returns the filter that the options describe. */
function filterOf(options: OptionValues<typeof FILTER>): RunFilter {
  const { status, plan, project, environment, label, owner, parent, since, quietSince } = options;
  return {
    ...(status.length > 0 ? { status } : {}),
    ...(plan === undefined ? {} : { planId: plan }),
    ...(project === undefined ? {} : { projectId: project }),
    ...(environment === undefined ? {} : { environmentId: environment }),
    ...(Object.keys(label).length > 0 ? { labels: label } : {}),
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parentRunId: parent }),
    ...(since === undefined ? {} : { createdAfter: since }),
    ...(quietSince === undefined ? {} : { updatedBefore: quietSince }),
  };
}

const list = defineCommand({
  name: 'runs list',
  summary: 'List runs, newest first',
  effect: 'ro',
  options: {
    ...FILTER,
    order: choice(['newest', 'oldest'], 'order of the list (default newest)'),
    byUpdate: toggle('in order of the last event, not of creation'),
    limit: limitOption,
  },
  examples: [
    { line: 'runs list', shows: 'order-42' },
    { line: 'runs list --status FAILED,PAUSED --since 1h', shows: 'order-7' },
    { line: 'runs list --label shop=berlin -o id', shows: 'order-42' },
    { line: 'runs list --by-update --limit 2', shows: 'lastEventSeq' },
    { line: 'runs list --status RUNNING --quiet-since 5m --json', shows: '[]' },
  ],
  async run({ store, out, options }) {
    const { limit, order, byUpdate } = options;
    const filter = {
      ...filterOf(options),
      ...(order === undefined ? {} : { order }),
      ...(byUpdate ? { orderBy: 'updatedAt' as const } : {}),
    };
    const { runs } = await store();
    await out.list(
      upTo(limit, (page) => runs.listRuns({ ...filter, ...page }), out),
      RUNS,
      'No runs found.',
    );
  },
});

const count = defineCommand({
  name: 'runs count',
  summary: 'Count runs; `exact: false` means at least that many',
  effect: 'ro',
  options: FILTER,
  examples: [{ line: 'runs count --label shop=berlin', shows: '"exact":true' }],
  async run({ store, out, options }) {
    const { runs } = await store();
    const { count, exact } = await runs.countRuns(filterOf(options));
    await out.report({ count, exact });
  },
});

const SNAPSHOT: View<RunSnapshot> = {
  columns: [
    { title: 'run', of: ({ runId }) => runId },
    { title: 'status', of: ({ status }) => state(status) },
    { title: 'plan', of: ({ planId, planVersion }) => `${planId} ${planVersion}` },
    { title: 'scope', of: ({ tenantId, projectId, environmentId }) => `${tenantId}/${projectId}/${environmentId}` },
    { title: 'events', of: ({ lastEventSeq }) => lastEventSeq },
    { title: 'started', of: ({ startedAt }) => at(startedAt) },
    { title: 'ended', of: ({ completedAt }) => at(completedAt) },
    {
      title: 'took',
      of: ({ totalDurationMs }) => (totalDurationMs === undefined ? '' : durationText(totalDurationMs)),
    },
    { title: 'error', of: ({ error }) => [error?.code, error?.message].filter(Boolean).join(': ') },
    {
      title: 'invalid',
      of: ({ violations }) => violations.map(({ runSeq, reason }) => `#${runSeq} ${reason}`).join('; '),
    },
  ],
  id: ({ runId }) => runId,
};

const show = defineCommand({
  name: 'runs show',
  summary: 'Show the status and the steps of a run',
  effect: 'ro',
  args: { run: one('id of the run') },
  examples: [{ line: 'runs show order-42', shows: '"status":"RUNNING"' }],
  async run({ store, out, args, longCall }) {
    const { runs } = await store();
    const snapshot = await runs.projectSnapshot(args.run, longCall);
    await out.show(snapshot, SNAPSHOT);
    if (out.form === 'table' && snapshot.steps.length > 0) {
      await out.raw('\n');
      await out.list(snapshot.steps, STEPS, '');
    }
  },
});

export const runListCommands = [list, count, show];
