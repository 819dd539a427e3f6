/** Damaged runs, which readers skip until they are repaired and released. */
import { tidemarkLine } from '../parts/command-line.tsx';
import { listQuarantined } from '../runs/api.ts';
import { hrefOfRun } from '../runs/links.ts';
import type { Concern } from './concern.ts';

const MOST = 100;

export async function quarantineConcerns(signal: AbortSignal): Promise<Concern[]> {
  const { items } = await listQuarantined(undefined, MOST, signal);
  return items.map((run) => ({
    id: `quarantined ${run.tenantId} ${run.runId}`,
    title: run.runId,
    detail: run.tenantId,
    href: hrefOfRun(run),
    tone: 'bad',
    why: `Damaged from event ${run.fromSeq} onwards: ${run.reason}.`,
    next: 'Feeds, subscriptions and snapshots skip it from that event on. Repair it, for example from a backup, then release it.',
    command: tidemarkLine('quarantine release', [run.runId], run.tenantId),
  }));
}
