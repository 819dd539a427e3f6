/** The keys of jobs among the records of `kv` (KV-6). */

/** Job keys are this prefix, the type, a dot and the id. */
export const JOB_PREFIX = 'gbe.state.tasks.';

const JOB_KEY = /^gbe\.state\.tasks\.([A-Za-z0-9_-]{1,100})\.(.+)$/s;

/** Returns the job type in a key, or `null` when it is not a job key. */
export function jobTypeOf(key: string): string | null {
  return JOB_KEY.exec(key)?.[1] ?? null;
}
