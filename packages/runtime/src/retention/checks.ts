/** Checks policies before a pass starts, so that an ambiguous policy cannot remove anything. */
import {
  type Duration,
  ENDED_RUN_STATUSES,
  hasRunEnded,
  invalidArgument,
  isTerminal,
  JOB_STATES,
  RUN_STATUSES,
  type RunStatus,
} from '@tidemark/core';
import { checkDuration, checkId, checkInteger } from '@tidemark/core/engine';
import type { CheckedPolicy } from './keeper.ts';
import type { EndedJobState, JobPolicy, RunPolicy } from './policies.ts';

const ENDED_JOBS = JOB_STATES.filter((state): state is EndedJobState => isTerminal(state));

/** A policy with its age in milliseconds. A policy with the action `keep` has no age. */
export type AgedPolicy<P> = Omit<P, 'action' | 'olderThan'> & CheckedPolicy & { olderThanMs: number };

/** Checks the fields that all policies without archiving share. */
export function checkAged<P extends { name: string; tenantId?: string; action?: string; olderThan?: Duration }>(
  policy: P,
  field: string,
): AgedPolicy<P> {
  const { action = 'delete', olderThan, ...rest } = policy;
  checkName(policy, field);
  if (action !== 'delete' && action !== 'keep') throw invalidArgument(`${field}.action`, "'delete' or 'keep'", action);
  if (action === 'keep') checkTimeless(olderThan, `${field}.olderThan`);
  const olderThanMs = action === 'keep' ? 0 : checkDuration(olderThan, `${field}.olderThan`);
  return { ...rest, action, olderThanMs };
}

/** A checked run policy: statuses as a list, age in milliseconds, or `null` if age does not matter. */
export interface CheckedRunPolicy extends Omit<RunPolicy, 'status' | 'olderThan'>, CheckedPolicy {
  statuses: RunStatus[];
  olderThanMs: number | null;
}

export function checkRunPolicy(policy: RunPolicy, field: string, canArchive: boolean): CheckedRunPolicy {
  const { status, olderThan, ...rest } = policy;
  checkName(policy, field);
  const { action, keepNewest, ageOf = 'last event' } = policy;
  if (action !== 'delete' && action !== 'archive' && action !== 'keep')
    throw invalidArgument(`${field}.action`, "'delete', 'archive' or 'keep'", action);
  if (action === 'keep') checkTimeless(olderThan ?? keepNewest, field);
  if (action === 'archive' && !canArchive) throw invalidArgument('archiver', 'given when a policy archives');
  if (action !== 'keep' && olderThan === undefined && keepNewest === undefined)
    throw invalidArgument(field, 'a policy with `olderThan`, `keepNewest` or both');
  if (ageOf !== 'last event' && ageOf !== 'first event')
    throw invalidArgument(`${field}.ageOf`, "'last event' or 'first event'", ageOf);
  if (keepNewest !== undefined) checkInteger(keepNewest, `${field}.keepNewest`, 0);
  const statuses = chosen(
    status,
    action === 'keep' ? RUN_STATUSES : ENDED_RUN_STATUSES,
    RUN_STATUSES,
    `${field}.status`,
  );
  const takesLiving = action !== 'keep' && statuses.some((it) => !hasRunEnded(it));
  if (takesLiving && (olderThan === undefined || keepNewest !== undefined || ageOf !== 'last event'))
    throw invalidArgument(field, 'by the age of the last event alone, since it names a status of runs that live');
  const olderThanMs = olderThan === undefined ? null : checkDuration(olderThan, `${field}.olderThan`);
  return { ...rest, ageOf, statuses, olderThanMs };
}

/** Returns the states of a job policy. Only ended jobs may be removed. */
export function checkJobStates(policy: JobPolicy, field: string): EndedJobState[] {
  return chosen(policy.state, ENDED_JOBS, ENDED_JOBS, `${field}.state`);
}

function chosen<T>(
  given: T | readonly T[] | undefined,
  byDefault: readonly T[],
  all: readonly T[],
  field: string,
): T[] {
  if (given === undefined) return [...byDefault];
  const list = (Array.isArray(given) ? given : [given]) as T[];
  const isKnown = list.length > 0 && list.every((it) => all.includes(it));
  if (!isKnown) throw invalidArgument(field, `one or several of ${all.join(', ')}`, given);
  return list;
}

/** Rejects an age for the action `keep`, because the meaning would be ambiguous. */
function checkTimeless(limit: unknown, field: string): void {
  if (limit !== undefined)
    throw invalidArgument(field, 'without `olderThan` and `keepNewest` where the action is `keep`');
}

function checkName(policy: { name: string; tenantId?: string }, field: string): void {
  checkId(policy.name, `${field}.name`);
  if (policy.tenantId !== undefined) checkId(policy.tenantId, `${field}.tenantId`);
}
