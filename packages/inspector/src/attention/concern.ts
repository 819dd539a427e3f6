/** A concern is something that needs attention: what it is, the reason, and what happens next. */
import type { Job, OverdueJob } from '@tidemark/core/portable';
import type { Tenant } from '../live/tenant.ts';
import type { IconName } from '../parts/icons.tsx';

export interface Concern {
  /** An id that stays the same while the concern lasts. */
  id: string;
  title: string;
  /** The address of a page with details. */
  href?: string;
  detail?: string;
  tone: 'bad' | 'warn' | 'quiet';
  why: string;
  next: string;
  /** The command line that fixes the concern or shows more about it. */
  command: string;
  /** A failed job that can be requeued here. */
  dead?: { job: Job; tenant: Tenant };
  /** A job of an unresponsive worker that can be taken back here. */
  overdue?: { overdue: OverdueJob; tenant: Tenant };
}

/** Concerns of one kind. */
export interface ConcernGroup {
  name: string;
  title: string;
  icon: IconName;
  concerns: readonly Concern[];
  /** Why the check failed or is incomplete. */
  error?: unknown;
}

/** Counts the concerns for the navigation. Informational concerns do not count. */
export function countOf(groups: readonly ConcernGroup[]): number {
  return groups.flatMap(({ concerns }) => concerns).filter(({ tone }) => tone !== 'quiet').length;
}
