/** The props of each tab of a run. */
import type { RunName } from './api.ts';
import type { Run } from './run.ts';

export interface RunTabProps {
  run: Run;
  /** The last sequence. */
  head: number;
  /** The name of the run on the server. Absent for a run from a file. */
  name?: RunName | undefined;
}
