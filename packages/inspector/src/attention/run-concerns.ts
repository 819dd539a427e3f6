/** Runs that failed since the last visit, and runs whose stored snapshot is behind their log. */
import type { RunSnapshot, RunSummary } from '@tidemark/core/portable';
import { tidemarkLine } from '../parts/command-line.tsx';
import { durationText } from '../parts/durations.ts';
import { counted } from '../parts/numbers.ts';
import { listRuns, storedSnapshot } from '../runs/api.ts';
import { hrefOfRun } from '../runs/links.ts';
import type { Concern } from './concern.ts';

const MAX_FAILED = 100;
/** The maximum number of failed runs whose error is read. */
const MAX_READ = 10;
const RECENT_RUNS = 20;
const RECENT_MS = 3_600_000;
/** Thresholds of the snapshot lag: listed, warning, error. */
const LAG_MS = { allowed: 1_000, high: 5_000, resync: 10_000 };

export async function failedRuns(since: number, signal: AbortSignal): Promise<Concern[]> {
  const filter = { status: 'FAILED', updatedAfter: new Date(since).toISOString() } as const;
  const { items } = await listRuns(filter, { limit: MAX_FAILED }, signal);
  const errors = await Promise.all(items.slice(0, MAX_READ).map((run) => snapshotOf(run, signal)));
  return items.map((run, at) => ({
    ...concernOf(run),
    id: `failed ${run.tenantId} ${run.runId}`,
    tone: 'bad',
    why: whyOf(errors[at]?.error),
    next: 'Nothing: a failed run is final. Fix the cause of the failed step, then start another run.',
  }));
}

function whyOf(error: RunSnapshot['error']): string {
  const text = [error?.code, error?.message].filter(Boolean).join(': ');
  return text === '' ? 'It failed.' : `It failed: ${text}`;
}

/** Checks only recent runs, because reading the snapshot of a run without one creates it. */
export async function laggingRuns(signal: AbortSignal): Promise<Concern[]> {
  const filter = { updatedAfter: new Date(Date.now() - RECENT_MS).toISOString() };
  const { items } = await listRuns(filter, { limit: RECENT_RUNS }, signal);
  const snapshots = await Promise.all(items.map((run) => snapshotOf(run, signal)));
  return items.flatMap((run, at) => {
    const snapshot = snapshots[at];
    const behind = run.lastEventSeq - (snapshot?.lastEventSeq ?? run.lastEventSeq);
    const lag = behind > 0 ? Date.now() - Date.parse(run.updatedAt) : 0;
    const isStale = snapshot?.freshness === 'STALE';
    if (!isStale && lag <= LAG_MS.allowed) return [];
    return [
      {
        ...concernOf(run),
        id: `lag ${run.tenantId} ${run.runId}`,
        tone: lag > LAG_MS.resync ? 'bad' : lag > LAG_MS.high || isStale ? 'warn' : 'quiet',
        why: isStale
          ? 'Its stored snapshot is stale: events were missing when it was updated.'
          : `Its stored snapshot is ${counted(behind, 'event')} behind, for ${durationText(lag)}.`,
        next: 'A running projector updates it. Until then, readers of the stored snapshot see the older state.',
        command: tidemarkLine('projector refresh', [run.runId], run.tenantId),
      },
    ];
  });
}

function concernOf(run: RunSummary): Omit<Concern, 'tone' | 'why' | 'next'> {
  return {
    id: run.runId,
    title: run.runId,
    detail: [run.planId, run.tenantId].join(' · '),
    href: hrefOfRun(run),
    command: tidemarkLine('runs events', [run.runId], run.tenantId, { failed: '' }),
  };
}

/** Returns `null` if the run was removed in the meantime. */
function snapshotOf(run: RunSummary, signal: AbortSignal): Promise<RunSnapshot | null> {
  return storedSnapshot(run, signal).catch(() => null);
}
