/** Erasures take a long time, so a caller may request one step at a time and see the progress in between. */
import { type ErasureOptions, type ErasureReport, isTidemarkError } from '@tidemark/core';
import type { Answer } from '../http/answer.ts';

/**
 * Runs one step of an erasure. Responds with 200 and the removed counts when nothing is left, or with 202 if there may
 * be more to remove.
 */
export async function eraseStep(
  erase: (options: Pick<ErasureOptions, 'onProgress' | 'signal'>) => Promise<ErasureReport>,
): Promise<Answer> {
  const stop = new AbortController();
  let soFar: ErasureReport | undefined;
  const onProgress = (report: ErasureReport) => {
    soFar = structuredClone(report);
    // Continues after an empty step, because the next call would otherwise begin with the same step.
    if (Object.keys(report.removed).length > 0) stop.abort();
  };
  try {
    return { body: await erase({ onProgress, signal: stop.signal }) };
  } catch (error) {
    if (stop.signal.aborted && soFar && isTidemarkError(error, 'ABORTED')) return { status: 202, body: soFar };
    throw error;
  }
}
