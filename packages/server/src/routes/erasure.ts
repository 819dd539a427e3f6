/** Erasures take long: a caller may request one step at a time and see the progress between steps. */
import { type ErasureOptions, type ErasureReport, isTidemarkError } from '@tidemark/core';
import type { Answer } from '../http/answer.ts';

/** Returns 200 with the removed counts when nothing is left, or 202 after a step if there may be more. */
export async function eraseStep(
  erase: (options: Pick<ErasureOptions, 'onProgress' | 'signal'>) => Promise<ErasureReport>,
): Promise<Answer> {
  const stop = new AbortController();
  let soFar: ErasureReport | undefined;
  const onProgress = (report: ErasureReport) => {
    soFar = structuredClone(report);
    // Continue after an empty step: the next call would start with it again.
    if (Object.keys(report.removed).length > 0) stop.abort();
  };
  try {
    return { body: await erase({ onProgress, signal: stop.signal }) };
  } catch (error) {
    if (stop.signal.aborted && soFar && isTidemarkError(error, 'ABORTED')) return { status: 202, body: soFar };
    throw error;
  }
}
