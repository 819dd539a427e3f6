/** Signed checkpoints over all runs of a store. */
export {
  type CheckpointCheck,
  type Checkpointer,
  type CheckpointerOptions,
  type CheckpointProblem,
  type CheckpointReport,
  type CheckpointsAt,
  createCheckpointer,
  type VerifyCheckpointsOptions,
  verifyCheckpoints,
} from './checkpointer.ts';
export type { Checkpoint, CheckpointKey, RunPoint } from './format.ts';
export {
  type CheckpointReader,
  type CheckpointReaderOptions,
  createCheckpointReader,
  type RunCheckpoint,
} from './reader.ts';
export type { CheckpointRun } from './run.ts';
