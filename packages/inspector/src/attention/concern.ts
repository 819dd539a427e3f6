/** Something that needs somebody: what it is, why it is not moving, and what happens next. */
import type { Job, OverdueJob } from '@tidemark/core/portable';
import type { Tenant } from '../live/tenant.ts';
import type { IconName } from '../parts/icons.tsx';

export interface Concern {
  /** The same for as long as it lasts. */
  id: string;
  title: string;
  /** Where it is shown whole. */
  href?: string;
  detail?: string;
  tone: 'bad' | 'warn' | 'quiet';
  why: string;
  next: string;
  /** The command line that does something about it, or shows more. */
  command: string;
  /** A dead job that can be requeued right here. */
  dead?: { job: Job; tenant: Tenant };
  /** A job of a silent worker that can be taken back right here. */
  overdue?: { overdue: OverdueJob; tenant: Tenant };
}

/** Concerns of one kind. */
export interface ConcernGroup {
  name: string;
  title: string;
  icon: IconName;
  concerns: readonly Concern[];
  /** Why they could not be looked for, or not all of them. */
  error?: unknown;
}

/** What the navigation counts: not what is only worth knowing. */
export function countOf(groups: readonly ConcernGroup[]): number {
  return groups.flatMap(({ concerns }) => concerns).filter(({ tone }) => tone !== 'quiet').length;
}
