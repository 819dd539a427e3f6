/** What backend authors build on: the ports, the parts of a store, and the helpers engines share. */
export { ERASURE_MARKS, erasureMarkOf } from '../admin/erasure-marks.ts';
export {
  type MemoryRequest,
  memoryRequestName,
  memoryRequestsAfter,
  VERSION_KEPT_MS,
  versionOfRequest,
} from '../agents/memory-requests.ts';
export { decodeCursor, encodeCursor, sameJson } from '../checks/json.ts';
export { checkDuration, checkInteger, timeText } from '../checks/numbers.ts';
export { checkId } from '../checks/text.ts';
export { type UrlReadings, withUrlOptions } from '../checks/url-options.ts';
export { artifactSweep, Cleaner, type CleaningStep, onceInAWhile, sweeping } from '../cleaner.ts';
export { SteadyClock } from '../clock.ts';
export { StoreContext } from '../context.ts';
export { hideUrlSecrets, holdsSecret, shownUrl } from '../contracts/url-secrets.ts';
export { corruptValue, Damage } from '../damage.ts';
export { GroupCommit } from '../group-commit.ts';
export { type Digest, digestBytes, digestOf, sha256, sha256Hex } from '../hash.ts';
export { jobTypeOf, placesOf } from '../jobs/places.ts';
export { HELD_STATES } from '../jobs/states.ts';
export { keyedAgents } from '../keyed/agents/agents.ts';
export { keyedArtifacts } from '../keyed/artifacts.ts';
export { Turns } from '../keyed/contention.ts';
export { splitKey } from '../keyed/keys.ts';
export { KeyedRuns } from '../keyed/runs.ts';
export { keyedTenancy } from '../keyed/tenancy.ts';
export { meets, type RecordState, recordAfter, startsAnew } from '../kv/conditions.ts';
export { compareKeys, firstAfter } from '../kv/order.ts';
export { requestName, requestPrefix, requestsAfter } from '../kv/requests.ts';
export { SortedKeys } from '../memory/sorted-keys.ts';
export { ChangeQueue } from '../memory/watch.ts';
export { inParts } from '../paging.ts';
export { type AppendPlan, planAppend, rewritten, seqConflict } from '../runs/append.ts';
export { damagedHead, FIRST_LINK, rollOf } from '../runs/chain.ts';
export { defaultIdempotencyKey } from '../runs/keys.ts';
export { readLogPage } from '../runs/log-page.ts';
export { checkRemoval, planRestore, type RestorePlan } from '../runs/restore-plan.ts';
export { isRunType, nextRunStatus } from '../runs/transitions.ts';
export { Signals } from '../signals.ts';
export {
  assembleStore,
  DEFAULT_TENANT,
  type Engine,
  engineOf,
  recordsOf,
  withCodec,
  withRecords,
  withRuns,
} from '../store.ts';
export { sumBytes, sumInteger, sumName, sumNames } from '../sums.ts';
export { InterceptedStore, type Interceptor, type StoreCall } from '../wrappers/intercept.ts';
export * from './agents.ts';
export * from './artifacts.ts';
export * from './blobs.ts';
export * from './journal.ts';
export * from './quarantines.ts';
export * from './records.ts';
export * from './runs.ts';
export * from './tenancy.ts';
