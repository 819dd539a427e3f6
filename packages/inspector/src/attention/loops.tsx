/** The status of the server's projector and sweeper. */
import { isTidemarkError } from '@tidemark/core/portable';
import { ask } from '../live/http.ts';
import { useResource } from '../live/resource.ts';
import { Icon } from '../parts/icons.tsx';
import { counted, countText } from '../parts/numbers.ts';
import { Pair } from '../parts/pair.tsx';
import { Time } from '../parts/times.tsx';

/** The server's report. Only `running` is set if the server runs no loops. */
interface LoopsReport {
  running: boolean;
  projector?: { lagMs: number | null; holes: number; resyncs: number; damagedRuns: number; invalidEvents: number };
  sweeps?: { rounds: number; errors: number; lastAt: string | null; jobs: Record<string, number> };
  deadLetters?: number | null;
}

/** The lag above which the server raises an alert. */
const LAG_HIGH_MS = 5_000;

async function loopsReport(signal: AbortSignal): Promise<LoopsReport | null> {
  try {
    return (await ask('GET /v1/loops', { signal })) as LoopsReport;
  } catch (error) {
    // The report is not available to callers other than operators, or on servers of version 0.1.
    if (isTidemarkError(error, 'FORBIDDEN', 'UNSUPPORTED', 'NOT_FOUND')) return null;
    throw error;
  }
}

export function Loops() {
  const report = useResource('loops', loopsReport).data.value;
  if (!report) return null;
  return (
    <section class="concern-group" aria-label="Loops">
      <h2>
        <Icon name="reload" /> Loops
      </h2>
      {report.running ? (
        <dl class="pairs outlook">
          <Projector report={report} />
          <Sweeps report={report} />
          <Pair name="Dead letters">
            <span class={report.deadLetters ? 'tone-warn' : 'quiet'}>{countText(report.deadLetters ?? 0)}</span>
          </Pair>
        </dl>
      ) : (
        <p class="quiet">This server does not run a projector or a sweeper; another process may.</p>
      )}
    </section>
  );
}

function Projector({ report: { projector } }: { report: LoopsReport }) {
  if (!projector) return null;
  const { lagMs, holes, resyncs, damagedRuns, invalidEvents } = projector;
  return (
    <>
      <Pair name="Projector lag">
        <span class={(lagMs ?? 0) > LAG_HIGH_MS ? 'tone-bad' : 'quiet'}>{countText(lagMs ?? 0)} ms</span>
      </Pair>
      <Pair name="Holes">
        {counted(holes, 'hole')}, {counted(resyncs, 'resync')}
      </Pair>
      <Pair name="Runs">
        <span class={damagedRuns > 0 ? 'tone-bad' : 'quiet'}>
          {countText(damagedRuns)} damaged, {counted(invalidEvents, 'invalid event')}
        </span>
      </Pair>
    </>
  );
}

function Sweeps({ report: { sweeps } }: { report: LoopsReport }) {
  if (!sweeps) return null;
  const swept = Object.values(sweeps.jobs).reduce((sum, count) => sum + count, 0);
  return (
    <Pair name="Sweeps">
      <span class={sweeps.errors > 0 ? 'tone-warn' : undefined}>
        {counted(sweeps.rounds, 'round')}, {counted(swept, 'job')} recovered, {counted(sweeps.errors, 'error')}
      </span>{' '}
      {sweeps.lastAt !== null && <Time at={sweeps.lastAt} />}
    </Pair>
  );
}
