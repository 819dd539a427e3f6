/** The parts of a store that its records use. */
import type { Commands } from './commands.ts';
import type { Hints } from './hints.ts';
import type { Layout } from './layout.ts';

export interface RecordParts {
  commands: Commands;
  layout: Layout;
  hints: Hints;
  /** Whether records are written with checksums. */
  sums: boolean;
  /** Whether one server holds all buckets, so that one script can change records of several buckets. */
  oneServer: boolean;
}
