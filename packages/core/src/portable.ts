/**
 * The portable API: contracts, errors, checks, the run handle and the reducer. It runs anywhere that has `fetch`,
 * without Node modules.
 */

export { damageFinding, deepFindings, unsummedFinding } from './admin/deep-findings.ts';
export { corruptValue, Damage } from './checks/damage.ts';
export { encodeJson } from './checks/json.ts';
export { checkLabels } from './checks/labels.ts';
export { checkDuration, checkInteger, checkLimit, checkOptionalDuration } from './checks/numbers.ts';
export {
  checkId,
  checkObject,
  checkOneOf,
  checkOptionalBoolean,
  checkOptionalId,
  checkPrefix,
  checkText,
  isPlainObject,
} from './checks/text.ts';
export * from './contracts/admin.ts';
export * from './contracts/agents.ts';
export * from './contracts/alerts.ts';
export * from './contracts/artifacts.ts';
export * from './contracts/calls.ts';
export * from './contracts/common.ts';
export * from './contracts/errors.ts';
export * from './contracts/event-fields.ts';
export * from './contracts/jobs.ts';
export * from './contracts/kv.ts';
export * from './contracts/quarantines.ts';
export * from './contracts/run-appends.ts';
export * from './contracts/run-events.ts';
export * from './contracts/run-handle.ts';
export * from './contracts/run-parts.ts';
export * from './contracts/run-state.ts';
export * from './contracts/runs.ts';
export * from './contracts/schemas.ts';
export * from './contracts/store.ts';
export * from './contracts/writes.ts';
export { isTerminal, mayMove } from './jobs/states.ts';
export { blameRun } from './projections/run-blame.ts';
export { createHandle, type HandleDefaults } from './runs/handle.ts';
export { smallParts } from './runs/parts.ts';
export { RunFold, reduceRun } from './runs/reducer.ts';
export { HeadMemory, headKey } from './tools/head-memory.ts';
export { sleep } from './tools/sleep.ts';
export { carriedWrite, writeCall } from './tools/writes.ts';
export {
  isReplayable,
  type ReplayArguments,
  type ReplayOptions,
  type ReplayResult,
  replay,
} from './wrappers/replay.ts';
