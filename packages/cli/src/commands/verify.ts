/**
 * `verify`: recomputes hash chains to find altered, missing and reordered events, and checks stored snapshots. With
 * `--all` it checks all other stored data too.
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

/** Returns the problem of the events, else of the summary, else of the stored snapshot. */
function problemIn({ problem, summary, snapshot }: VerifyReport): string | undefined {
  if (problem) return `#${problem.runSeq} ${problem.reason}`;
  if (summary) return `${summary.field} is not ${summary.rule}`;
  if (!snapshot?.problem) return undefined;
  return `snapshot at #${snapshot.runSeq}: ${snapshot.problem}${snapshot.resynced ? '; it was replaced' : ''}`;
}

const verify = defineCommand({
  name: 'verify',
  summary: 'Verify the hash chain and the snapshot of a run, or check all stored data',
  details:
    'A wrong snapshot is replaced. Events that were lost together with the head cannot be detected here: the alert `HEAD_WENT_BACK` reports those. With --all, lists only damaged data. Exit code 6 when there is a problem.',
  effect: 'ro',
  args: { run: maybe('id of the run') },
  options: { all: toggle('check every run, record, document and artifact'), ...WALK_OPTIONS },
  examples: [
    { line: 'verify order-42', shows: '"ok":true' },
    { line: 'verify --all', shows: 'values checked' },
  ],
  async run(context) {
    const { store, out, io, args, options, longCall } = context;
    if ((args.run === undefined) !== options.all) throw invalidArgument('run', 'the id of a run, or --all');
    const { runs } = await store({ mustExist: true });
    if (args.run !== undefined) {
      const report = await runs.verify(args.run, longCall);
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
