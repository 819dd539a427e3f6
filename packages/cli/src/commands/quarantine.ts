/** `quarantine`: lists damaged runs, and releases them once they are repaired. */
import { invalidArgument, isTidemarkError, type QuarantinedRun, type RunStore } from '@tidemark/core';
import { at, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choice, maybe, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';

const QUARANTINED: View<QuarantinedRun> = {
  columns: [
    { title: 'RUN', of: ({ runId }) => runId },
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'STATE', of: (run) => state(run.state) },
    { title: 'FROM', of: ({ fromSeq }) => fromSeq },
    { title: 'FOUND', of: (run) => at(Date.parse(run.at)) },
    { title: 'REASON', of: ({ reason }) => reason },
  ],
  id: ({ runId }) => runId,
};

const list = defineCommand({
  name: 'quarantine list',
  summary: 'List damaged runs',
  details: 'Feeds skip these runs from the sequence in FROM onwards, until they are repaired and released.',
  effect: 'ro',
  options: {
    state: withDefault(choice(['quarantined', 'released', 'any'], 'which runs to list'), 'quarantined' as const),
    limit: limitOption,
  },
  examples: [{ line: 'quarantine list', shows: '' }],
  async run({ store, out, options }) {
    const { runs } = await store();
    const pages = upTo(options.limit, (page) => runs.listQuarantined({ ...page, state: options.state }), out);
    await out.list(pages, QUARANTINED, 'No quarantined runs.');
  },
});

/** Returns every quarantined run. Reads all pages first, because a release removes its run from the list. */
async function listAllQuarantined(runs: RunStore): Promise<QuarantinedRun[]> {
  const found: QuarantinedRun[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await runs.listQuarantined(cursor === undefined ? {} : { cursor });
    found.push(...page.items);
    if (page.next === undefined) return found;
    cursor = page.next;
  }
}

const release = defineCommand({
  name: 'quarantine release',
  summary: 'Release one repaired run, or all repaired runs',
  details:
    'Verifies each run from its first event. A damaged run stays quarantined; with --all it is listed and the exit code is 6.',
  effect: 'rw',
  args: { run: maybe('id of the run') },
  options: { all: toggle('release every repaired run') },
  examples: [
    { line: 'quarantine release --all', shows: 'released' },
    { line: 'quarantine release order-42', shows: 'NOT_FOUND', exit: 3 },
    { line: 'quarantine release --all --dry-run', shows: '"would":"release"' },
  ],
  async run({ store, out, args, options, dryRun, longCall }) {
    if ((args.run === undefined) !== options.all) throw invalidArgument('run', 'the id of a run, or --all');
    const { runs } = await store({ mustExist: true });
    if (dryRun) return out.report({ dryRun: true, would: 'release', run: args.run ?? 'all' });
    if (args.run !== undefined) return out.show(await runs.releaseRun(args.run, longCall), QUARANTINED);
    const counts = { released: 0, damaged: 0 };
    const damaged = async function* () {
      for (const run of await listAllQuarantined(runs)) {
        try {
          await runs.releaseRun(run.runId, { tenantId: run.tenantId, ...longCall });
          counts.released++;
        } catch (error) {
          // The run was removed in the meantime.
          if (isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED', 'NOT_FOUND')) continue;
          if (!isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
          counts.damaged++;
          yield { ...run, reason: error.rule ?? error.message };
        }
      }
    };
    await out.list(damaged(), QUARANTINED, 'No run is damaged.');
    await out.note(`${counts.released} released, ${counts.damaged} still damaged.`);
    return counts.damaged === 0 ? EXIT.ok : EXIT.unmet;
  },
});

export const quarantineCommands = [list, release];
