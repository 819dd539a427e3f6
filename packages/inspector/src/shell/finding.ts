/** Search results of the jump dialog. */
import type { IconName } from '../parts/icons.tsx';

export interface Finding {
  /** The kind of result: run, session, … */
  kind: string;
  icon: IconName;
  title: string;
  detail?: string;
  href: string;
}

/** Finds items by a typed text. */
export type Finder = (text: string, signal: AbortSignal) => Promise<Finding[]>;
