/** A server with runs of every kind behind a browser, for the tests of the views of runs. */
import { type Rig, startRig } from './browser.ts';
import { writeFailedRun, writeLiveRun, writeManyRuns } from './data.ts';

export async function startRunsRig(): Promise<Rig> {
  const rig = await startRig();
  await writeManyRuns(rig, 90);
  await writeFailedRun(rig);
  await writeLiveRun(rig);
  return rig;
}
