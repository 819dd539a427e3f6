/** Reads the last checkpoint of a file or a run, and the state of single runs in it (RUN-23). */
import { type CheckpointsAt, checkpointTargetOf } from './checkpointer.ts';
import { type Checkpoint, type CheckpointKey, publicKeyOf, type RunPoint } from './format.ts';
import { type CheckpointLog, pointKey } from './log.ts';

/** Options of `createCheckpointReader`. */
export interface CheckpointReaderOptions extends CheckpointsAt {
  /** The Ed25519 public key of the signer, as PEM text or a `KeyObject`. Do not take it from the checkpoints. */
  publicKey: CheckpointKey;
}

/** The last checkpoint, and the state of a run in it. */
export interface RunCheckpoint {
  /** The last checkpoint, or `null` if there is none. */
  checkpoint: Checkpoint | null;
  /** The state of the run at the checkpoint, or `null` if the checkpoint does not cover the run. */
  point: RunPoint | null;
}

/** Reads the last checkpoint for one run at a time. `createCheckpointReader` creates it. */
export interface CheckpointReader {
  /**
   * Returns the last checkpoint and the state of a run in it. Reads the checkpoints again only if they have changed.
   *
   * @throws `CORRUPT_VALUE` if the checkpoints are damaged or signed by another key.
   */
  read(run: { tenantId: string; runId: string }): Promise<RunCheckpoint>;
}

/**
 * Creates a reader for the checkpoints that `createCheckpointer` writes.
 *
 * @example
 * const { privateKey, publicKey } = generateKeyPairSync('ed25519');
 * await store.runs.handle('order-42').append('RunStarted');
 * await createCheckpointer({ store, file: 'checkpoints.jsonl', key: privateKey }).checkpoint();
 * const reader = createCheckpointReader({ file: 'checkpoints.jsonl', publicKey });
 * const { checkpoint, point } = await reader.read({ tenantId: 'default', runId: 'order-42' });
 * console.log(checkpoint?.number, point?.lastEventSeq); // 1 1
 */
export function createCheckpointReader({ publicKey, ...at }: CheckpointReaderOptions): CheckpointReader {
  const key = publicKeyOf(publicKey);
  const target = checkpointTargetOf(at);
  let known: { version: string; log: CheckpointLog } | null = null;
  let reading: Promise<CheckpointLog> | null = null;
  const load = async () => {
    // Read this before the checkpoints: if another checkpoint is written in between, the next call reads them again.
    const version = await target.version();
    if (known?.version !== version) known = { version, log: await target.read(key) };
    return known.log;
  };
  return {
    async read(run) {
      reading ??= load().finally(() => {
        reading = null;
      });
      const { last, current } = await reading;
      return { checkpoint: last, point: current.get(pointKey(run)) ?? null };
    },
  };
}
