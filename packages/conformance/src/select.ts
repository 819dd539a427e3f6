/** Which cases to run, and in which order. */
import type { ConformanceCase, Domain } from './kit.ts';

export interface CaseSelection {
  /** A part of an id, or a clause such as `RUN-4` or `004 §3.2`; or a pattern over id, title and clauses. */
  only?: string | RegExp;
  domains?: readonly Domain[];
}

/** The chosen cases; those that close the store come last. */
export function selectCases(cases: readonly ConformanceCase[], selection: CaseSelection = {}): ConformanceCase[] {
  const { only, domains } = selection;
  const chosen = cases.filter(
    (it) => (!domains || domains.includes(it.domain)) && (only === undefined || matches(it, only)),
  );
  return [...chosen.filter((it) => !closesStore(it)), ...chosen.filter(closesStore)];
}

/** Whether the case closes or reopens the store, so that no other may use it at the same time. */
export function closesStore(testCase: ConformanceCase): boolean {
  return testCase.closesStore === true || (testCase.needs?.includes('reopen') ?? false);
}

/** Cases that sweep the whole store with a grace of a millisecond, which takes the bytes that others are just storing. */
const SWEEPING = [
  'artifacts/deleting-one-leaves-the-other',
  'artifacts/tenants-are-apart',
  'artifacts/swept-when-expired',
];

/** Whether the case may run at the same time as others on one store, to try many calls at once and to save time. */
export function sharesStore(testCase: ConformanceCase): boolean {
  const { id, needs } = testCase;
  // The feed is everybody's: to walk it beside all other cases takes long.
  const walksTheFeed = needs?.includes('runs.feed') || id.startsWith('runs/feed');
  return !closesStore(testCase) && !walksTheFeed && !SWEEPING.includes(id);
}

/** Parts of the ids of cases that tell one millisecond from the next, on a store whose clock can be moved. */
const TIMED =
  /millisecond|clock-that-steps-back|after-expiry|outlive-expiry|expired-is-invisible|keep-the-ttl|lapsed-lease/;

/** Whether the case says more on a store under test that has `advance` and `setBack`. */
export function isTimed({ id }: ConformanceCase): boolean {
  return TIMED.test(id);
}

function matches(testCase: ConformanceCase, only: string | RegExp): boolean {
  if (typeof only === 'string') return testCase.id.includes(only) || testCase.proves.includes(only);
  return [testCase.id, testCase.title, ...testCase.proves].some((text) => text.search(only) >= 0);
}
