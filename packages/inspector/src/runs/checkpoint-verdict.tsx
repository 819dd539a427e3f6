/** The last signed checkpoint that the server knows, and what it covers of a run (RUN-23). */
import type { VerifyReport } from '@tidemark/core/portable';
import type { AnswerTo } from '@tidemark/wire';
import { useResource } from '../live/resource.ts';
import { counted, countText } from '../parts/numbers.ts';
import type { Tone } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import { checkpointOf, type RunName, verifyRun } from './api.ts';
import { Pending, Verdict } from './verdict.tsx';

type Answer = AnswerTo<'GET /v1/runs/{runId}/checkpoint'>;

export function SignedCheckpoint({ name }: { name: RunName }) {
  const both = useResource('checkpoint', async (signal) => {
    const known = await checkpointOf(name, signal);
    // Read later than the checkpoint, so that the run has at least the events that the checkpoint covers.
    return { known, report: known.point ? await verifyRun(name, signal) : null };
  });
  const found = both.data.value;
  if (!found) return <Pending error={both.error.value} onRetry={both.reload} />;
  const { known, report } = found;
  const { checkpoint } = known;
  if (!checkpoint)
    return (
      <Verdict tone="quiet" title={known.configured ? 'No checkpoint yet' : 'This server knows no checkpoints'}>
        <p class="quiet">
          A signed checkpoint reveals runs and ends of runs that were removed. Write one with{' '}
          <code>tidemark checkpoint</code>, and start the server with <code>--checkpoints</code>.
        </p>
      </Verdict>
    );
  const { tone, title } = coverage(known, report);
  return (
    <Verdict tone={tone} title={title}>
      <p>
        Signed <Time at={checkpoint.at} /> by <code class="hash">{checkpoint.key}</code>
        {checkpoint.runs !== undefined && ` over ${counted(checkpoint.runs, 'run')}`}
      </p>
      <p>
        Root <code class="hash">{checkpoint.root}</code>
      </p>
    </Verdict>
  );
}

/** Compares the run with the checkpoint. Only the link of the last event can be compared here. */
function coverage({ checkpoint, point }: Answer, report: VerifyReport | null): { tone: Tone; title: string } {
  const name = `Checkpoint ${countText(checkpoint!.number)}`;
  if (!point || !report || point.life !== (report.life ?? 1))
    return { tone: 'warn', title: `${name} does not cover this run` };
  if (point.lastEventSeq > report.events)
    return {
      tone: 'bad',
      title: `${name} covers ${counted(point.lastEventSeq, 'event')}, but the run has only ${countText(report.events)}`,
    };
  if (point.lastEventSeq < report.events)
    return {
      tone: 'busy',
      title: `${name} covers ${countText(point.lastEventSeq)} of ${counted(report.events, 'event')}`,
    };
  return point.head === report.head
    ? { tone: 'good', title: `${name} covers all ${counted(report.events, 'event')}` }
    : { tone: 'bad', title: `The run differs from ${name.toLowerCase()}` };
}
