/** Erasures take long: a caller may ask for one step at a time, and see between two of them how far it is. */
import { type ErasureOptions, type ErasureReport, isTidemarkError } from '@tidemark/core';
import type { Answer } from '../http/answer.ts';

/** 200 with what was removed when nothing is left; 202 after a step, when there may be more. */
export async function eraseStep(
  erase: (options: Pick<ErasureOptions, 'onProgress' | 'signal'>) => Promise<ErasureReport>,
): Promise<Answer> {
  const stop = new AbortController();
  let soFar: ErasureReport | undefined;
  const onProgress = (report: ErasureReport) => {
    soFar = structuredClone(report);
    // A step that found nothing is none: the next call would begin with it again.
    if (Object.keys(report.removed).length > 0) stop.abort();
  };
  try {
    return { body: await erase({ onProgress, signal: stop.signal }) };
  } catch (error) {
    if (stop.signal.aborted && soFar && isTidemarkError(error, 'ABORTED')) return { status: 202, body: soFar };
    throw error;
  }
}
