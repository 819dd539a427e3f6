/** `quarantine`: runs in which damage was found, and giving them back to their readers once they are repaired. */
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
  summary: 'List runs in which damage was found',
  details: 'Feeds pass over them from the sequence in FROM on, until they are repaired and released.',
  effect: 'ro',
  options: {
    state: withDefault(choice(['quarantined', 'released', 'any'], 'which of them'), 'quarantined' as const),
    limit: limitOption,
  },
  examples: [{ line: 'quarantine list', shows: '' }],
  async run({ store, out, options }) {
    const { runs } = await store();
    const pages = upTo(options.limit, (page) => runs.listQuarantined({ ...page, state: options.state }), out);
    await out.list(pages, QUARANTINED, 'No run is quarantined.');
  },
});

/** Every quarantined run, read before any is released: a release takes its run out of the list. */
async function allOf(runs: RunStore): Promise<QuarantinedRun[]> {
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
  summary: 'Release a repaired run, or every run that is whole again',
  details:
    'Each run is read from its first event. One that is still damaged stays quarantined; with --all it is listed, and the exit code is 6.',
  effect: 'rw',
  args: { run: maybe('id of the run') },
  options: { all: toggle('every quarantined run') },
  examples: [
    { line: 'quarantine release --all', shows: 'released' },
    { line: 'quarantine release order-42', shows: 'NOT_FOUND', exit: 3 },
    { line: 'quarantine release --all --dry-run', shows: '"would":"release"' },
  ],
  async run({ store, out, args, options, dryRun, patient }) {
    if ((args.run === undefined) !== options.all) throw invalidArgument('run', 'the id of a run, or --all');
    const { runs } = await store({ mustExist: true });
    if (dryRun) return out.report({ dryRun: true, would: 'release', run: args.run ?? 'all' });
    if (args.run !== undefined) return out.show(await runs.releaseRun(args.run, patient), QUARANTINED);
    const counts = { released: 0, damaged: 0 };
    const damaged = async function* () {
      for (const run of await allOf(runs)) {
        try {
          await runs.releaseRun(run.runId, { tenantId: run.tenantId, ...patient });
          counts.released++;
        } catch (error) {
          // Of a run that was removed meanwhile nothing is left to release.
          if (isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED', 'NOT_FOUND')) continue;
          if (!isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
          counts.damaged++;
          yield { ...run, reason: error.rule ?? error.message };
        }
      }
    };
    await out.list(damaged(), QUARANTINED, 'No run is damaged any more.');
    await out.note(`${counts.released} released, ${counts.damaged} still damaged.`);
    return counts.damaged === 0 ? EXIT.ok : EXIT.unmet;
  },
});

export const quarantineCommands = [list, release];
