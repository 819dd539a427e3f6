/** What the box that leads anywhere finds, and who looks for it. */
import type { IconName } from '../parts/icons.tsx';

export interface Finding {
  /** What kind of thing: a run, a session, … */
  kind: string;
  icon: IconName;
  title: string;
  detail?: string;
  href: string;
}

/** What a text may stand for; nothing found is `[]`. */
export type Finder = (text: string, signal: AbortSignal) => Promise<Finding[]>;
