/** The toolbox for backend authors: helpers that an engine may use. All are optional. */
export { ERASURE_MARKS, erasureMarkOf } from './admin/erasure-marks.ts';
export {
  type MemoryRequest,
  memoryRequestName,
  memoryRequestsAfter,
  VERSION_KEPT_MS,
  versionOfRequest,
} from './agents/memory-requests.ts';
export { corruptValue, Damage } from './checks/damage.ts';
export { decodeCursor, encodeCursor, sameJson } from './checks/json.ts';
export { checkDuration, checkInteger, timeText } from './checks/numbers.ts';
export { sumBytes, sumInteger, sumName, sumNames } from './checks/sums.ts';
export { checkId, checkOptionalBoolean } from './checks/text.ts';
export { type UrlReadings, withUrlOptions } from './checks/url-options.ts';
export { EVENT_COLUMN_TYPES } from './contracts/event-fields.ts';
export { hideUrlSecrets, holdsSecret, invalidUrl, shownUrl } from './contracts/url-secrets.ts';
export { type Digest, digestBytes, digestOf, sha256, sha256Hex } from './hash.ts';
export { indexKeysOf } from './jobs/index-keys.ts';
export { HELD_STATES } from './jobs/states.ts';
export { checkParkTime, TIME_DIGITS } from './jobs/times.ts';
export { keyedAgents } from './keyed/agents/agents.ts';
export { keyedArtifacts } from './keyed/artifacts.ts';
export { KeyedRuns } from './keyed/runs.ts';
export { keyedTenancy } from './keyed/tenancy.ts';
export { withAnswer } from './kv/batch-answers.ts';
export { meets, type RecordState, recordAfter, startsAnew } from './kv/conditions.ts';
export { boundsOf, type KeyBounds, keysWithin } from './kv/key-bounds.ts';
export { compareKeys, firstAfter } from './kv/order.ts';
export { requestName, requestPrefix, requestsAfter } from './kv/requests.ts';
export { SortedKeys } from './memory/sorted-keys.ts';
export { ChangeQueue } from './memory/watch.ts';
export { type AppendPlan, type AppendRules, planAppend, rewritten, seqConflict } from './runs/append.ts';
export {
  type ChainFormat,
  CommitChain,
  damagedHead,
  FIRST_LINK,
  firstLinkOf,
  NEWEST_CHAIN_FORMAT,
  rollOf,
  startOfLife,
} from './runs/chain.ts';
export { ChainMarker } from './runs/chain-marker.ts';
export { eventOfRow, OWN_FIELDS, ownValuesOf, ROW_FIELDS, type RowValue, rowOf } from './runs/event-forms.ts';
export { checkEventRange, type EventRange, rangeAfter } from './runs/event-range.ts';
export { expirySweep } from './runs/expiring.ts';
export { eventRefusal } from './runs/faults.ts';
export { defaultIdempotencyKey } from './runs/keys.ts';
export { readLogPage } from './runs/log-page.ts';
export { decodeNotice, encodeNotice, noticeOfRemoval } from './runs/notices.ts';
export { entryAfter } from './runs/quarantine-entry.ts';
export { checkRemoval, planRestore, type RestorePlan } from './runs/restore-plan.ts';
export { isRunType, nextRunStatus } from './runs/transitions.ts';
export { DEFAULT_TENANT } from './runs/view.ts';
export {
  assembleStore,
  downloadUrlOf,
  type Engine,
  engineOf,
  isNewLoss,
  recordsOf,
  withArtifactBytes,
  withCodec,
  withRecords,
  withRetention,
  withRuns,
} from './store.ts';
export { BLOCK_BYTES, BlockSums, matchesBlock } from './tools/block-sums.ts';
export { artifactSweep, Cleaner, type CleaningStep, onceInAWhile, sweeping } from './tools/cleaner.ts';
export { SteadyClock } from './tools/clock.ts';
export { KeyedMutex, refuseIfOver } from './tools/contention.ts';
export { StoreContext } from './tools/context.ts';
export { weakestDurability } from './tools/durability.ts';
export { decodeId, encodeId } from './tools/encoded-ids.ts';
export { GroupCommit } from './tools/group-commit.ts';
export { JOB_PREFIX, jobTypeOf } from './tools/job-keys.ts';
export { splitKey } from './tools/joined-keys.ts';
export { LruMap } from './tools/lru-map.ts';
export { Merge } from './tools/merge.ts';
export { missingPackage } from './tools/missing-package.ts';
export { outcomesOf } from './tools/outcomes.ts';
export { cursorKey, inParts, pageOf } from './tools/paging.ts';
export { Signals } from './tools/signals.ts';
export { sleep } from './tools/sleep.ts';
export { SYSTEM_TENANT } from './tools/system-tenant.ts';
export { InterceptedStore, type Interceptor, type StoreCall } from './wrappers/intercept.ts';
