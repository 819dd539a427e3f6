/** Something that needs attention: what it is, why, and what happens next. */
import type { Job, OverdueJob } from '@tidemark/core/portable';
import type { Tenant } from '../live/tenant.ts';
import type { IconName } from '../parts/icons.tsx';

export interface Concern {
  /** Stable while the concern lasts. */
  id: string;
  title: string;
  /** The address of its details. */
  href?: string;
  detail?: string;
  tone: 'bad' | 'warn' | 'quiet';
  why: string;
  next: string;
  /** The command line that fixes it or shows more. */
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

/** Counts the concerns for the navigation, without informational ones. */
export function countOf(groups: readonly ConcernGroup[]): number {
  return groups.flatMap(({ concerns }) => concerns).filter(({ tone }) => tone !== 'quiet').length;
}
