/** Collects everything that needs attention, periodically while the page is visible. */
import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { onRecovery } from '../live/outage.ts';
import { liveState } from '../live/stream.ts';
import { DEFAULT_TENANT, listTenants } from '../shell/tenant-box.tsx';
import { type Concern, type ConcernGroup, countOf } from './concern.ts';
import { doctorConcerns } from './doctor-concerns.ts';
import { type JobConcerns, jobConcerns } from './job-concerns.ts';
import { newsSince, noteVisit } from './last-visit.ts';
import { pauseConcerns } from './pause-concerns.ts';
import { quarantineConcerns } from './quarantine-concerns.ts';
import { failedRuns } from './run-concerns.ts';

const REFRESH_MS = 30_000;
/** The delay of the first check, which lets the current view load first. */
const FIRST_AFTER_MS = 1_500;
const MAX_MS = 60_000;
/** The maximum number of tenants whose jobs and pauses are checked. */
const MAX_TENANTS = 10;

/** The concerns by group; `null` until the first check is done. */
export const concernGroups = signal<readonly ConcernGroup[] | null>(null);
/** Whether some tenants were not checked. */
export const hasMoreTenants = signal(false);
export const attentionCount = computed(() => (concernGroups.value === null ? 0 : countOf(concernGroups.value)));

let loading: Promise<void> | undefined;

/** Checks now, or joins the check that is running. */
export function refreshAttention(): Promise<void> {
  loading ??= loadConcerns().finally(() => {
    loading = undefined;
  });
  return loading;
}

/** Starts the first check immediately, for pages that show its results. */
export function useAttention(): void {
  useEffect(() => {
    if (concernGroups.value === null) void refreshAttention();
  }, []);
}

export function startAttention(): void {
  onRecovery(() => void refreshAttention());
  setTimeout(() => void refreshAttention(), FIRST_AFTER_MS);
  setInterval(() => {
    if (!document.hidden && liveState.value !== 'paused') void refreshAttention();
  }, REFRESH_MS);
}

async function loadConcerns(): Promise<void> {
  const signal = AbortSignal.timeout(MAX_MS);
  noteVisit();
  const { items, next } = await listTenants(MAX_TENANTS, signal).catch(() => ({ items: [], next: undefined }));
  const tenants = items.length === 0 ? [undefined] : items.map((it) => (it === DEFAULT_TENANT ? undefined : it));
  const jobs = Promise.all(tenants.map((tenant) => jobConcerns(tenant, signal)));
  const jobsThat = (are: keyof JobConcerns) => () => jobs.then((found) => found.flatMap((it) => it[are]));
  const groups = await Promise.all([
    group({ name: 'quarantined', title: 'Damaged runs', icon: 'shield' }, () => quarantineConcerns(signal)),
    group({ name: 'stuck', title: 'Jobs whose worker stopped responding', icon: 'jobs' }, jobsThat('stuck')),
    group({ name: 'pauses', title: 'Pauses that expire soon', icon: 'pauses' }, async () =>
      (await Promise.all(tenants.map((tenant) => pauseConcerns(tenant, signal)))).flat(),
    ),
    group({ name: 'failed', title: 'Runs that failed since your last visit', icon: 'runs' }, () =>
      failedRuns(newsSince.value, signal),
    ),
    group({ name: 'dead', title: 'Jobs that failed permanently', icon: 'jobs' }, jobsThat('dead')),
    group({ name: 'untaken', title: 'Jobs that no worker claims', icon: 'jobs' }, jobsThat('untaken')),
    group({ name: 'doctor', title: 'Settings that put data at risk', icon: 'shield' }, () => doctorConcerns(signal)),
    group({ name: 'retried', title: 'Jobs being retried', icon: 'reload' }, jobsThat('retried')),
  ]);
  hasMoreTenants.value = next !== undefined;
  concernGroups.value = groups;
}

/** Catches the error of one group, so that the others are still shown. */
async function group(
  about: Pick<ConcernGroup, 'name' | 'title' | 'icon'>,
  find: () => Promise<Concern[]>,
): Promise<ConcernGroup> {
  try {
    return { ...about, concerns: await find() };
  } catch (error) {
    return { ...about, concerns: [], error };
  }
}
