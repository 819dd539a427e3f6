/** Tidemark's contracts, rules and in-memory store: the public API for engines and applications. */
import './node-version.ts';

export { damageFinding, deepFindings, unsummedFinding } from './admin/deep-findings.ts';
export { fromFlowEvent } from './agents/flow-event.ts';
export { memoryKey, parseMemoryKey } from './agents/memory-key.ts';
export { mintPauseToken } from './agents/pauses.ts';
export { sanitizeSteering } from './agents/sanitize.ts';
export { type JsonBounds, parseJsonText } from './checks/json.ts';
export { composeCodecs } from './codec/compose.ts';
export { compression } from './codec/compression.ts';
export { type EncryptionKey, type EncryptionOptions, encryption, type KeyRing } from './codec/encryption.ts';
export * from './contracts/index.ts';
export { defineEvents } from './events/define.ts';
export { isTerminal } from './jobs/states.ts';
export { compareKeys, compareValues } from './kv/order.ts';
export { numberOf, textOf } from './kv/values.ts';
export { memoryStore } from './memory/store.ts';
export { defineProjection } from './projections/define.ts';
export { blameRun } from './projections/run-blame.ts';
export { leafOf, linkOf, rollOf } from './runs/chain.ts';
export { deriveIdempotencyKey, type KeyParts } from './runs/keys.ts';
export { RunFold, reduceRun } from './runs/reducer.ts';
export { type RunEventV1, type RunScope, upcastV1 } from './runs/upcast.ts';
export * from './telemetry/ports.ts';
export { type Telemetry, withTelemetry } from './telemetry/with-telemetry.ts';
export { type BatchingOptions, type BatchingStore, type LostEvent, withBatching } from './wrappers/batching.ts';
export {
  type FailSafeHandle,
  type FailSafeOptions,
  type FailSafeRuns,
  type FailSafeStore,
  type StoreFailure,
  withFailSafe,
} from './wrappers/fail-safe.ts';
export type { QuotaOptions, TenantQuota } from './wrappers/quota-options.ts';
export type { QuotaUsage } from './wrappers/quota-usage.ts';
export { type QuotaStore, withQuotas } from './wrappers/quotas.ts';
export {
  isReplayable,
  type ReplayArguments,
  type ReplayOptions,
  type ReplayResult,
  replay,
} from './wrappers/replay.ts';
export { type RetryOptions, withRetries } from './wrappers/retrying.ts';
