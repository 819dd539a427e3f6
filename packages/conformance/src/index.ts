/** The Tidemark contract as an executable test kit for stores. */
export { ALL_CASES } from './cases/index.ts';
export { renderClausesPage } from './clauses-page.ts';
export type { Bench, ConformanceCase, Domain, ModelSettings, StoreFactory, StoreUnderTest } from './kit.ts';
export type { RegisterOptions, TestRunner } from './register.ts';
export { registerConformance } from './register.ts';
export { formatReport } from './report.ts';
export { type CaseSelection, isTimed, sharesStore } from './select.ts';
export type { CaseResult, ConformanceOptions, ConformanceReport } from './suite.ts';
export { runConformance } from './suite.ts';
