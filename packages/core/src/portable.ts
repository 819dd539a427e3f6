/**
 * The portable API: contracts, errors, checks, the run handle and the reducer. It runs anywhere that has `fetch`,
 * without Node modules.
 */

export { deepFindings } from './admin/late-findings.ts';
export { corruptValue } from './checks/damage.ts';
export { encodeJson } from './checks/json.ts';
export { laterLife } from './checks/life.ts';
export { type ByteRange, checkByteRange, checkDuration, checkInteger } from './checks/numbers.ts';
export { checkId, checkObject, checkPrefix, isPlainObject } from './checks/text.ts';
export * from './contracts/index.ts';
export { isTerminal, mayMove } from './jobs/states.ts';
export { blameRun } from './projections/run-blame.ts';
export { filledEvent } from './runs/envelope.ts';
export { createHandle, type HandleDefaults } from './runs/handle.ts';
export { smallParts } from './runs/parts.ts';
export { RunFold, reduceRun } from './runs/reducer.ts';
export { timeLimitOf } from './tools/call-start.ts';
export { writeForError } from './tools/carried-writes.ts';
export { sleep } from './tools/sleep.ts';
export {
  isReplayable,
  type ReplayArguments,
  type ReplayOptions,
  type ReplayResult,
  replay,
} from './wrappers/replay.ts';
