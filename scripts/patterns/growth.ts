/**
 * Measures how the time of a regular expression grows with its input. Each input is run several times, and only the
 * shortest run counts. Only large ratios fail, so that a linear pattern passes on a busy machine.
 */
import { type Stress, stressesOf, stressText } from './stress.ts';

export interface Growth {
  stress: Stress;
  length: number;
  /** Milliseconds for a string of a quarter of `length` and for one of `length`. */
  shortMs: number;
  longMs: number;
}

const FACTOR = 4;
/** For 4 times the text a linear pattern takes 4 times as long, and a quadratic one 16 times. */
const MAX_RATIO = 8;
/** Linear patterns take some hundredths of a millisecond for the longest text. A shorter time proves nothing. */
const MIN_MS = 1;
/** Starts very short, so that exponential or cubic growth is detected before a string takes forever. */
const LENGTHS = [16, 18, 20, 22, 24, 28, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192];
const RUNS = 5;

/** Returns the first input whose time grows much faster than its length, or `null`. */
export function worseThanLinear(pattern: RegExp): Growth | null {
  for (const stress of stressesOf(pattern)) {
    const growth = growthOf(pattern, stress);
    if (growth) return growth;
  }
  return null;
}

function growthOf(pattern: RegExp, stress: Stress): Growth | null {
  for (const length of LENGTHS) {
    if (leastTime(pattern, stressText(stress, length), 2) < MIN_MS) continue;
    const longMs = leastTime(pattern, stressText(stress, length), RUNS);
    const shortMs = leastTime(pattern, stressText(stress, length / FACTOR), RUNS);
    if (longMs >= MIN_MS && longMs > MAX_RATIO * shortMs) return { stress, length, shortMs, longMs };
  }
  return null;
}

/** Returns the shortest time of several runs. Stops after a run that is too short to prove anything. */
function leastTime(pattern: RegExp, text: string, runs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs && least > MIN_MS / 10; run++) {
    pattern.lastIndex = 0;
    const started = performance.now();
    text.replace(pattern, '');
    least = Math.min(least, performance.now() - started);
  }
  return least;
}
