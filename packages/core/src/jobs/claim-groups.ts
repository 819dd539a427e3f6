/** State shared by the claimers of one process for one type of one tenant. */
import type { IndexedRecord } from '../engine/records.ts';

/** The maximum of `spread`: how many of the first ready jobs claimers choose among when processes compete. */
const WIDEST_SPREAD = 32;

/** Ready jobs that several claimers share. Each claimer removes the candidates it tries. */
export interface ReadyScan {
  candidates: IndexedRecord[];
  /** Whether there may be more jobs than were read. */
  isCut: boolean;
}

/** The claimers of one process for one type of one tenant. */
export interface ClaimGroup {
  /** Keys that are being claimed now. */
  taking: Set<string>;
  /** Keys claimed since the current or last scan began, which its result may still contain. */
  taken: Set<string>;
  /**
   * How many of the first ready jobs a claimer chooses among. Doubles when a race with another process is lost, and
   * shrinks with each win.
   */
  spread: number;
  /** The current scan, and the next one, which later claimers join because the current one may miss their jobs. */
  scanning: Promise<unknown>;
  next: Promise<ReadyScan> | undefined;
  /** How many claimers have joined the next scan. */
  joined: number;
  /** The deadline of the current scan. */
  waitUntil: number;
}

/**
 * Adjusts the spread after a race, so that competing processes spread out, and return to the first job once they win.
 */
export function noteRace(group: ClaimGroup, isWon: boolean): void {
  group.spread = isWon ? Math.max(1, Math.floor(group.spread * 0.9)) : Math.min(group.spread * 2, WIDEST_SPREAD);
}

export function newClaimGroup(): ClaimGroup {
  const never = Number.POSITIVE_INFINITY;
  const [taking, taken] = [new Set<string>(), new Set<string>()];
  return { taking, taken, spread: 1, scanning: Promise.resolve(), next: undefined, joined: 0, waitUntil: never };
}
