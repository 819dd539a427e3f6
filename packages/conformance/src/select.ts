/** Selects and orders the cases to run. */
import type { ConformanceCase, Domain } from './kit.ts';

export interface CaseSelection {
  /** A part of an id, or a clause such as `RUN-4` or `004 §3.2`. A pattern is matched against id, title and clauses. */
  only?: string | RegExp;
  domains?: readonly Domain[];
}

/** Returns the selected cases. Cases that close the store come last. */
export function selectCases(cases: readonly ConformanceCase[], selection: CaseSelection = {}): ConformanceCase[] {
  const { only, domains } = selection;
  const chosen = cases.filter(
    (it) => (!domains || domains.includes(it.domain)) && (only === undefined || matches(it, only)),
  );
  return [...chosen.filter((it) => !closesStore(it)), ...chosen.filter(closesStore)];
}

/** Returns whether the case closes or reopens the store, so that no other case may use it at the same time. */
export function closesStore(testCase: ConformanceCase): boolean {
  return testCase.closesStore === true || (testCase.needs?.includes('reopen') ?? false);
}

/**
 * Cases that sweep the whole store with a grace period of a millisecond, which removes bytes that other cases are
 * storing.
 */
const SWEEPING = [
  'artifacts/deleting-one-leaves-the-other',
  'artifacts/tenants-are-apart',
  'artifacts/swept-when-expired',
];

/** Returns whether the case may run concurrently with others on one store. */
export function sharesStore(testCase: ConformanceCase): boolean {
  const { id, needs } = testCase;
  // All cases write to one feed, so reading it while they run takes long.
  const walksTheFeed = needs?.includes('runs.feed') || id.startsWith('runs/feed');
  return !closesStore(testCase) && !walksTheFeed && !SWEEPING.includes(id);
}

/** Parts of the ids of cases that check single milliseconds if the store's clock can be moved. */
const TIMED =
  /millisecond|clock-that-steps-back|after-expiry|outlive-expiry|expired-is-invisible|keep-the-ttl|lapsed-lease/;

/** Returns whether the case checks more on a store with `advance` and `setBack`. */
export function isTimed({ id }: ConformanceCase): boolean {
  return TIMED.test(id);
}

function matches(testCase: ConformanceCase, only: string | RegExp): boolean {
  if (typeof only === 'string') return testCase.id.includes(only) || testCase.proves.includes(only);
  return [testCase.id, testCase.title, ...testCase.proves].some((text) => text.search(only) >= 0);
}
