/**
 * `verify`: recomputes hash chains to find altered, missing and reordered events, and checks stored snapshots. With
 * `--all`, also checks all other stored data. With `--against`, also compares all runs against signed checkpoints.
 */
import { invalidArgument, type VerifyReport } from '@tidemark/core';
import type { CheckpointProblem } from '@tidemark/runtime';
import { state } from '../cells.ts';
import { keySummary, readKey } from '../checkpoint-keys.ts';
import { defineCommand } from '../command.ts';
import { DAMAGE, newCounts, resumeNote, WALK_OPTIONS, walkEverything } from '../deep-check.ts';
import { EXIT } from '../exit-codes.ts';
import { maybe, text, toggle } from '../options.ts';
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

/** Returns the first problem: in the events, then in the summary, then in the stored snapshot. */
function problemIn({ problem, summary, snapshot }: VerifyReport): string | undefined {
  if (problem) return `#${problem.runSeq} ${problem.reason}`;
  if (summary) return `${summary.field} is not ${summary.rule}`;
  if (!snapshot?.problem) return undefined;
  return `snapshot at #${snapshot.runSeq}: ${snapshot.problem}${snapshot.resynced ? '; it was replaced' : ''}`;
}

const MISMATCHES: View<CheckpointProblem> = {
  columns: [
    { title: 'RUN', of: ({ runId }) => runId },
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'KIND', of: ({ kind }) => kind },
    { title: 'PROBLEM', of: ({ reason }) => reason },
  ],
  id: ({ runId }) => runId,
};

const verify = defineCommand({
  name: 'verify',
  summary: 'Verify the hash chain and the snapshot of a run, all stored data, or all runs against checkpoints',
  details:
    'Replaces incorrect snapshots. Cannot detect events that were lost along with the head; the alert `HEAD_WENT_BACK` reports those. With --all, lists only damaged data. With --against, lists runs that neither continue the history recorded by `tidemark checkpoint` nor have a tombstone. Exits with code 6 if there is a problem, or 1 if the checkpoint file is damaged or signed by a different key.',
  effect: 'ro',
  args: { run: maybe('id of the run') },
  options: {
    all: toggle('check every run, record, document and artifact'),
    against: text('file', 'compare every run with the checkpoints stored in this file'),
    againstRun: text('run', 'compare every run with the checkpoints stored in this run'),
    publicKey: text('file', keySummary('the public key that --against and --against-run need', '--public-key')),
    ...WALK_OPTIONS,
  },
  examples: [
    { line: 'verify order-42', shows: '"ok":true' },
    { line: 'verify --all', shows: 'values checked' },
    { line: 'verify --against checkpoints.jsonl --public-key checkpoint.key.pub', shows: 'No problems.' },
  ],
  async run(context) {
    const { store, out, io, args, options, longCall } = context;
    const { against, againstRun } = options;
    const chosen = [args.run, options.all || undefined, against, againstRun].filter((it) => it !== undefined);
    if (chosen.length !== 1)
      throw invalidArgument('run', 'exactly one of: a run id, --all, --against or --against-run');
    const compares = against !== undefined || againstRun !== undefined;
    if (!compares && options.publicKey !== undefined)
      throw invalidArgument('--public-key', 'used with --against or --against-run');
    if (compares) {
      const publicKey = await readKey(context, '--public-key', options.publicKey);
      const { verifyCheckpoints } = await import('@tidemark/runtime');
      const opened = await store({ mustExist: true });
      const source = againstRun === undefined ? { file: against! } : { run: { store: opened, runId: againstRun } };
      const found = await verifyCheckpoints({ store: opened, ...source, publicKey }, longCall);
      await out.list(found.problems, MISMATCHES, 'No problems.');
      const { number, at } = found.last;
      const counts = `${found.removed} removed, ${found.problems.length} with problems`;
      await out.note(`Compared ${found.runs} runs: ${counts}. Last checkpoint: number ${number}, ${at}.`);
      return found.ok ? EXIT.ok : EXIT.unmet;
    }
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
