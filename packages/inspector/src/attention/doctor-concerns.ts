/** Settings that weaken the store's guarantees, as reported by its doctor. */
import { type DoctorFinding, isTidemarkError } from '@tidemark/core/portable';
import { ask } from '../live/http.ts';
import { tidemarkLine } from '../parts/command-line.tsx';
import type { Concern } from './concern.ts';

/** How long to cache the result, because the doctor's checks are expensive. */
const KEPT_MS = 600_000;

let last: { at: number; concerns: Concern[] } | undefined;

export async function doctorConcerns(signal: AbortSignal): Promise<Concern[]> {
  if (last && Date.now() - last.at < KEPT_MS) return last.concerns;
  const concerns = await ask('GET /v1/doctor', { signal }).then(
    ({ findings }) => findings.filter(({ status }) => status !== 'ok').map(concernOf),
    (error: unknown) => {
      // Not available to tenants, because only operators can change settings.
      if (isTidemarkError(error, 'FORBIDDEN')) return [];
      throw error;
    },
  );
  last = { at: Date.now(), concerns };
  return concerns;
}

function concernOf({ check, status, message, fix }: DoctorFinding): Concern {
  return {
    id: `doctor ${check}`,
    title: check,
    tone: status === 'fail' ? 'bad' : 'warn',
    why: status === 'unknown' ? `Unknown: ${message}` : message,
    next: fix ?? 'This stays until the setting is changed.',
    command: tidemarkLine('doctor', [], undefined),
  };
}
