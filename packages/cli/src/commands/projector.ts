/** `projector`: keeps stored snapshots up to date, and lists snapshots that lag behind. */
import type { RunSummary } from '@tidemark/core';
import { at, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { duration, integer, one, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';
import { untilStopped } from '../until-stopped.ts';

const run = defineCommand({
  name: 'projector run',
  summary: 'Keep snapshots up to date until interrupted',
  details: 'Several projectors share the work. Alerts go to stderr as JSON lines.',
  effect: 'rw',
  options: {
    for: duration('duration', 'stop after this time'),
    shards: withDefault(integer('n', 'number of shards; fixed at first use', 1), 16),
  },
  examples: [{ line: 'projector run --for 500ms', shows: '"refreshed"' }],
  async run({ store, out, io, options, dryRun }) {
    const opened = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'keep snapshots up to date' });
    const { createProjector } = await import('@tidemark/runtime');
    const logLine = (message: unknown) => void out.note(JSON.stringify(message));
    const projector = await createProjector({
      store: opened,
      shards: options.shards,
      onAlert: logLine,
      onError: (error) => logLine({ error: String(error) }),
    });
    try {
      await untilStopped(io.signal, options.for);
    } finally {
      await projector.stop();
    }
    await out.report({ ...projector.status() });
    return EXIT.ok;
  },
});

interface Behind extends RunSummary {
  /** The number of events that are missing from the stored snapshot. */
  behind: number;
  freshness: string;
}

const BEHIND: View<Behind> = {
  columns: [
    { title: 'RUN', of: ({ runId }) => runId },
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'BEHIND', of: ({ behind }) => behind },
    { title: 'SNAPSHOT', of: ({ freshness }) => state(freshness) },
    { title: 'UPDATED', of: ({ updatedAt }) => at(updatedAt) },
  ],
  id: ({ runId }) => runId,
};

const lag = defineCommand({
  name: 'projector lag',
  summary: 'List runs whose stored snapshot lags behind',
  details: 'Checks the most recently changed runs. Checking a run without a stored snapshot creates one.',
  effect: 'ro',
  options: { limit: limitOption },
  examples: [{ line: 'projector lag', shows: 'All snapshots are up to date.' }],
  async run({ store, out, options }) {
    const { runs } = await store();
    const behind = async function* (): AsyncGenerator<Behind, void, undefined> {
      for await (const run of upTo(options.limit, (page) => runs.listRuns(page), out)) {
        const snapshot = await runs.getSnapshot(run.runId, { tenantId: run.tenantId });
        const missing = run.lastEventSeq - (snapshot?.lastEventSeq ?? 0);
        if (missing > 0 || snapshot?.freshness === 'STALE')
          yield { ...run, behind: Math.max(0, missing), freshness: snapshot?.freshness ?? 'none' };
      }
    };
    await out.list(behind(), BEHIND, 'All snapshots are up to date.');
  },
});

const refresh = defineCommand({
  name: 'projector refresh',
  summary: 'Update the stored snapshot of a run',
  effect: 'rw',
  args: { run: one('id of the run') },
  options: { full: toggle('rebuild it from the first event') },
  examples: [
    { line: 'projector refresh order-42', shows: '"status":"RUNNING"' },
    { line: 'projector refresh order-42 --full', shows: '"folded":3' },
  ],
  async run({ store, out, args, options, dryRun, longCall }) {
    const { runs } = await store();
    const { full } = options;
    if (dryRun) return out.report({ dryRun: true, would: 'refresh', runId: args.run, full }, args.run);
    const { snapshot, folded } = await runs.refreshSnapshot(args.run, { ...longCall, full });
    const { status, lastEventSeq } = snapshot;
    await out.report({ runId: args.run, status, lastEventSeq, folded }, args.run);
  },
});

export const projectorCommands = [run, lag, refresh];
