/** Starts a rig with runs of every kind, for the tests of the run views. */
import { type Rig, startRig } from './browser.ts';
import { writeFailedRun, writeLiveRun, writeManyRuns } from './data.ts';

export async function startRunsRig(): Promise<Rig> {
  const rig = await startRig();
  await writeManyRuns(rig, 90);
  await writeFailedRun(rig);
  await writeLiveRun(rig);
  return rig;
}
