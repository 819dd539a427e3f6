/**
 * The portable API: contracts, errors, checks, the run handle and the reducer. It runs anywhere that has `fetch`,
 * without Node modules.
 */

export { damageFinding, deepFindings, unsummedFinding } from './admin/deep-findings.ts';
export { corruptValue, Damage } from './checks/damage.ts';
export { encodeJson } from './checks/json.ts';
export { checkKeyRange } from './checks/key-range.ts';
export { checkLabels } from './checks/labels.ts';
export { checkAppendLife, checkOptionalLife, laterLife } from './checks/life.ts';
export {
  type ByteRange,
  checkByteRange,
  checkDuration,
  checkInteger,
  checkLimit,
  checkOptionalDuration,
} from './checks/numbers.ts';
export { checkOperations, type UncheckedOperation } from './checks/operations.ts';
export { refuseOldNames } from './checks/renamed.ts';
export { checkSealed } from './checks/sealed.ts';
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
export * from './contracts/index.ts';
export type { EngineCall } from './engine/call.ts';
export { isTerminal, mayMove } from './jobs/states.ts';
export { checkParkTime } from './jobs/times.ts';
export { blameRun } from './projections/run-blame.ts';
export { filledEvent, filledEvents } from './runs/envelope.ts';
export { checkEventRange, checkTail, type EventRange, rangeAfter } from './runs/event-range.ts';
export { eventRefusal } from './runs/faults.ts';
export { createHandle, type HandleDefaults } from './runs/handle.ts';
export { smallParts } from './runs/parts.ts';
export { RunFold, reduceRun } from './runs/reducer.ts';
export { timeLimitOf } from './tools/call-start.ts';
export { writeForError } from './tools/carried-writes.ts';
export { GroupCommit } from './tools/group-commit.ts';
export { HeadMemory, headKey } from './tools/head-memory.ts';
export { sleep } from './tools/sleep.ts';
export {
  isReplayable,
  type ReplayArguments,
  type ReplayOptions,
  type ReplayResult,
  replay,
} from './wrappers/replay.ts';
