/** The props of each tab of a run. */
import type { RunName } from './api.ts';
import type { Run } from './run.ts';

export interface RunTabProps {
  run: Run;
  /** The last sequence. */
  head: number;
  /** The run on the server; absent for a run from a file. */
  name?: RunName | undefined;
}
