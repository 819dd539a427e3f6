/** Finds runs by their id, a part of a recent id, or `run#17` for an event. */
import type { RunEventRecord, RunSummary } from '@tidemark/core/portable';
import type { Finding } from '../shell/finding.ts';
import { firstEvent, listRuns } from './api.ts';
import { hrefOfRun } from './links.ts';

const RECENT = 500;
const MOST = 8;

export async function findRuns(text: string, signal: AbortSignal): Promise<Finding[]> {
  const [, runId = text, seq] = /^(.+)#(\d+)$/.exec(text) ?? [];
  const [exact, recent] = await Promise.all([
    firstEvent(runId, signal).catch(() => null),
    listRuns({}, { limit: RECENT }, signal),
  ]);
  const similar = recent.items.filter((run) => run.runId.toLowerCase().includes(runId.toLowerCase()));
  const isListed = similar.some((run) => run.runId === exact?.runId && run.tenantId === exact.tenantId);
  const found = [...(exact && !isListed ? [exact] : []), ...similar.toSorted(byLength)];
  return found.slice(0, MOST).map((run) => findingOf(run, seq));
}

/** Sorts an exact match before longer ids that contain it. */
function byLength(a: RunSummary, b: RunSummary): number {
  return a.runId.length - b.runId.length;
}

function findingOf({ runId, tenantId, planId, status }: RunEventRecord | RunSummary, seq: string | undefined): Finding {
  return {
    kind: seq === undefined ? 'run' : 'event',
    icon: 'runs',
    title: seq === undefined ? runId : `${runId}#${seq}`,
    detail: [status === undefined ? '' : String(status).toLowerCase(), planId, tenantId].filter(Boolean).join(' · '),
    href: hrefOfRun({ runId, tenantId }, seq),
  };
}
