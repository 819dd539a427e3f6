/** What each way to look at a run is given. */
import type { RunName } from './api.ts';
import type { Run } from './run.ts';

export interface RunTabProps {
  run: Run;
  /** The last sequence. */
  head: number;
  /** Whose run it is on the server; absent for a run from a file. */
  name?: RunName | undefined;
}
