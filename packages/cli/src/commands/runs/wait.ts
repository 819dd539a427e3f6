/** `runs wait`: waits until a run has reached a status or a sequence, or until the time is up. */
import { hasRunEnded, invalidArgument, RUN_STATUSES, type RunStatus, TidemarkError } from '@tidemark/core';
import { defineCommand } from '../../command.ts';
import { EXIT } from '../../exit-codes.ts';
import { choicesOf, duration, one, text, withDefault } from '../../options.ts';

export const wait = defineCommand({
  name: 'runs wait',
  summary: 'Wait until a run reaches a status or a sequence',
  details:
    'Exits with code 6 if the run ended with another status, or with one of --fail-on, and with 7 if the time is up.',
  effect: 'ro',
  args: { run: one('id of the run') },
  options: {
    for: withDefault(text('what', 'a status, `ended`, or `seq=42`'), 'ended'),
    within: withDefault(duration('duration', 'maximum time to wait'), 300_000, '5m'),
    failOn: choicesOf(RUN_STATUSES, 'status', 'exit with 6 when the run has this status'),
  },
  examples: [
    { line: 'runs wait order-7', shows: '"status":"FAILED"' },
    { line: 'runs wait order-7 --fail-on FAILED', shows: 'FAILED', exit: 6 },
    { line: 'runs wait order-42 --for seq=3', shows: '"status":"RUNNING"' },
    { line: 'runs wait order-42 --for COMPLETED --within 100ms', shows: 'TIMEOUT', exit: 7 },
  ],
  async run({ store, out, io, args, options }) {
    const isReached = parseGoal(options.for);
    const { runs } = await store();
    const limit = AbortSignal.timeout(options.within);
    const signal = AbortSignal.any([io.signal, limit]);
    let seen = 0;
    const reached = async () => {
      const snapshot = await runs.projectSnapshot(args.run);
      seen = snapshot.lastEventSeq;
      if (!isReached(snapshot.status, snapshot.lastEventSeq) && !hasRunEnded(snapshot.status)) return null;
      await out.report({ runId: args.run, status: snapshot.status, lastEventSeq: snapshot.lastEventSeq }, args.run);
      const isGood = isReached(snapshot.status, snapshot.lastEventSeq) && !options.failOn.includes(snapshot.status);
      return isGood ? EXIT.ok : EXIT.unmet;
    };
    const already = await reached();
    if (already !== null) return already;
    try {
      for await (const _event of runs.tail(args.run, { afterSeq: seen, signal })) {
        const now = await reached();
        if (now !== null) return now;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (io.signal.aborted) return EXIT.interrupted;
    throw new TidemarkError('TIMEOUT', `Run ${args.run} did not reach ${options.for} within ${options.within} ms`);
  },
});

function parseGoal(what: string): (status: RunStatus, seq: number) => boolean {
  const seq = /^seq=(\d+)$/.exec(what)?.[1];
  if (seq !== undefined) return (_, last) => last >= Number(seq);
  if (what === 'ended') return hasRunEnded;
  const wanted = RUN_STATUSES.find((it) => it === what.toUpperCase());
  if (!wanted) throw invalidArgument('--for', `ended, seq=N or one of ${RUN_STATUSES.join(', ')}`, what);
  return (status) => status === wanted;
}
