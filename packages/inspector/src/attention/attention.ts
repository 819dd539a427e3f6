/** Everything that needs somebody, looked for again and again while the page is in view. */
import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { liveState } from '../live/stream.ts';
import { DEFAULT_TENANT, listTenants } from '../shell/tenant-box.tsx';
import { type Concern, type ConcernGroup, countOf } from './concern.ts';
import { doctorConcerns } from './doctor-concerns.ts';
import { type JobConcerns, jobConcerns } from './job-concerns.ts';
import { newsSince, noteVisit } from './last-visit.ts';
import { pauseConcerns } from './pause-concerns.ts';
import { quarantineConcerns } from './quarantine-concerns.ts';
import { failedRuns } from './run-concerns.ts';

const PAUSE_MS = 30_000;
/** What the reader came for is fetched first. */
const FIRST_AFTER_MS = 1_500;
const LONGEST_MS = 60_000;
/** Jobs and pauses are looked for tenant by tenant, in so many. */
const MOST_TENANTS = 10;

/** `null` until it was looked for once. */
export const concernGroups = signal<readonly ConcernGroup[] | null>(null);
/** Tenants there are beyond those that were looked at. */
export const hasMoreTenants = signal(false);
export const attentionCount = computed(() => (concernGroups.value === null ? 0 : countOf(concernGroups.value)));

let looking: Promise<void> | undefined;

/** Looks now, unless somebody is looking already. */
export function lookAround(): Promise<void> {
  looking ??= look().finally(() => {
    looking = undefined;
  });
  return looking;
}

/** For pages that show what was found: they do not wait for the first look. */
export function useFirstLook(): void {
  useEffect(() => {
    if (concernGroups.value === null) void lookAround();
  }, []);
}

export function startAttention(): void {
  setTimeout(() => void lookAround(), FIRST_AFTER_MS);
  setInterval(() => {
    if (!document.hidden && liveState.value !== 'paused') void lookAround();
  }, PAUSE_MS);
}

async function look(): Promise<void> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  noteVisit();
  const { items, next } = await listTenants(MOST_TENANTS, signal).catch(() => ({ items: [], next: undefined }));
  const tenants = items.length === 0 ? [undefined] : items.map((it) => (it === DEFAULT_TENANT ? undefined : it));
  const jobs = Promise.all(tenants.map((tenant) => jobConcerns(tenant, signal)));
  const jobsThat = (are: keyof JobConcerns) => () => jobs.then((found) => found.flatMap((it) => it[are]));
  const groups = await Promise.all([
    group({ name: 'quarantined', title: 'Runs in which damage was found', icon: 'shield' }, () =>
      quarantineConcerns(signal),
    ),
    group({ name: 'stuck', title: 'Jobs whose worker fell silent', icon: 'jobs' }, jobsThat('stuck')),
    group({ name: 'pauses', title: 'Pauses that expire soon', icon: 'pauses' }, async () =>
      (await Promise.all(tenants.map((tenant) => pauseConcerns(tenant, signal)))).flat(),
    ),
    group({ name: 'failed', title: 'Runs that failed since your last visit', icon: 'runs' }, () =>
      failedRuns(newsSince.value, signal),
    ),
    group({ name: 'dead', title: 'Jobs that failed for good', icon: 'jobs' }, jobsThat('dead')),
    group({ name: 'untaken', title: 'Jobs that nobody takes', icon: 'jobs' }, jobsThat('untaken')),
    group({ name: 'doctor', title: 'Settings that endanger what is stored', icon: 'shield' }, () =>
      doctorConcerns(signal),
    ),
    group({ name: 'retried', title: 'Jobs that are tried again', icon: 'reload' }, jobsThat('retried')),
  ]);
  hasMoreTenants.value = next !== undefined;
  concernGroups.value = groups;
}

/** Where one kind cannot be looked for, the others still are. */
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
