/**
 * `verify`: recomputes hash chains, so that an altered, missing or reordered event is found, and a wrong stored snapshot; with `--all`
 * checks everything else that is stored too.
 */
import { invalidArgument, type VerifyReport } from '@tidemark/core';
import { state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { DAMAGE, newCounts, resumeNote, WALK_OPTIONS, walkEverything } from '../deep-check.ts';
import { EXIT } from '../exit-codes.ts';
import { maybe, toggle } from '../options.ts';
import type { View } from '../output.ts';

const PROOFS: View<VerifyReport> = {
  columns: [
    { title: 'RUN', of: ({ runId }) => runId },
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'RESULT', of: ({ ok }) => state(ok ? 'ok' : 'fail') },
    { title: 'EVENTS', of: ({ events }) => events },
    { title: 'HEAD', of: ({ head }) => head.slice(0, 16) },
    { title: 'PROBLEM', of: problemIn },
  ],
  id: ({ runId }) => runId,
};

/** The problem of the events, else that of the listed fields, else that of the stored snapshot. */
function problemIn({ problem, summary, snapshot }: VerifyReport): string | undefined {
  if (problem) return `#${problem.runSeq} ${problem.reason}`;
  if (summary) return `${summary.field} is not ${summary.rule}`;
  if (!snapshot?.problem) return undefined;
  return `snapshot at #${snapshot.runSeq}: ${snapshot.problem}${snapshot.resynced ? '; it was replaced' : ''}`;
}

const verify = defineCommand({
  name: 'verify',
  summary: 'Recompute the hash chain of a run and check its snapshot, or check everything that is stored',
  details:
    'A wrong snapshot is replaced. Events that were lost together with the head cannot be found: `HEAD_WENT_BACK` reports those. With --all only what is damaged is listed. Exit code 6 when there is anything.',
  effect: 'ro',
  args: { run: maybe('id of the run') },
  options: { all: toggle('every run, record, document and artifact'), ...WALK_OPTIONS },
  examples: [
    { line: 'verify order-42', shows: '"ok":true' },
    { line: 'verify --all', shows: 'values checked' },
  ],
  async run(context) {
    const { store, out, io, args, options, patient } = context;
    if ((args.run === undefined) !== options.all) throw invalidArgument('run', 'the id of a run, or --all');
    const { runs } = await store({ mustExist: true });
    if (args.run !== undefined) {
      const report = await runs.verify(args.run, patient);
      await out.show(report, PROOFS);
      return report.ok ? EXIT.ok : EXIT.unmet;
    }
    const counts = newCounts();
    await out.list(walkEverything(context, counts), DAMAGE, 'No problems.');
    await out.note(`${counts.checked} values checked, ${counts.damaged} with a problem.`);
    if (counts.next !== undefined) await out.note(resumeNote(counts));
    if (io.signal.aborted) return EXIT.interrupted;
    return counts.damaged === 0 ? EXIT.ok : EXIT.unmet;
  },
});

export const verifyCommands = [verify];
