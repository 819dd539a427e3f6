/** `verify`: recomputes hash chains, so that an altered, missing or reordered event is found. */
import { invalidArgument, type VerifyReport } from '@tidemark/core';
import { allRuns } from '../all-runs.ts';
import { state } from '../cells.ts';
import { defineCommand } from '../command.ts';
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
    { title: 'PROBLEM', of: ({ problem }) => problem && `#${problem.runSeq} ${problem.reason}` },
  ],
  id: ({ runId }) => runId,
};

const verify = defineCommand({
  name: 'verify',
  summary: 'Recompute the hash chain of a run, or of all runs',
  details: 'With --all only runs with a problem are listed. Exit code 6 when there is one.',
  effect: 'ro',
  args: { run: maybe('id of the run') },
  options: { all: toggle('every run') },
  examples: [
    { line: 'verify order-42', shows: '"ok":true' },
    { line: 'verify --all', shows: 'runs verified' },
  ],
  async run({ store, out, io, args, options, patient, progress }) {
    if ((args.run === undefined) !== options.all) throw invalidArgument('run', 'the id of a run, or --all');
    const { runs } = await store({ mustExist: true });
    if (args.run !== undefined) {
      const report = await runs.verify(args.run, patient);
      await out.show(report, PROOFS);
      return report.ok ? EXIT.ok : EXIT.unmet;
    }
    const bar = progress('verifying');
    const counts = { runs: 0, events: 0, broken: 0 };
    const broken = async function* () {
      for await (const run of allRuns(runs)) {
        if (io.signal.aborted) return;
        const report = await runs.verify(run.runId, { tenantId: run.tenantId, ...patient });
        counts.runs++;
        counts.events += report.events;
        bar.to(counts.runs);
        if (report.ok) continue;
        counts.broken++;
        yield report;
      }
    };
    await out.list(broken(), PROOFS, 'No problems.');
    bar.end();
    await out.note(`${counts.runs} runs verified, ${counts.events} events, ${counts.broken} with a problem.`);
    if (io.signal.aborted) return EXIT.interrupted;
    return counts.broken === 0 ? EXIT.ok : EXIT.unmet;
  },
});

export const verifyCommands = [verify];
