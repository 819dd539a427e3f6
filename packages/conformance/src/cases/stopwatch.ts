/** Whether time enough is left for a promise about it: on a busy machine what is short may be over before it is looked at. */

/** How far the clocks of kit and engine may be apart. */
const SLACK_MS = 50;

/** Tells whether less than `ms` has passed on the kit's own clock: only then must what lives so long still be there. */
export function stopwatch(ms: number): () => boolean {
  const began = performance.now();
  return () => performance.now() - began < ms - SLACK_MS;
}
