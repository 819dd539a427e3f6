/** The entry point for adapters, which store the data of a framework: the keys and values that they share. */

export { sameJson } from '../checks/json.ts';
export { checkDuration } from '../checks/numbers.ts';
export { KeyedMutex } from '../tools/contention.ts';
export { LruMap } from '../tools/lru-map.ts';
export { beginsValue, eventsOfValue, type ReadValue, ValueReader } from './event-values.ts';
export { cutIntoFields, type Frame, type FrameOptions, joinFields, packFrames, unpackFrames } from './frames.ts';
export { endOfPrefix, keySegment, segmentText } from './keys.ts';
export {
  appendOnce,
  type LogAppended,
  type LogFence,
  type OwnedEvent,
  type OwnedLog,
  OwnedLogs,
  RUN_FIELD,
  runOf,
} from './owned-logs.ts';
