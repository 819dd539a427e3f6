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

function matches(testCase: ConformanceCase, only: string | RegExp): boolean {
  if (typeof only === 'string') return testCase.id.includes(only) || testCase.proves.includes(only);
  return [testCase.id, testCase.title, ...testCase.proves].some((text) => text.search(only) >= 0);
}
