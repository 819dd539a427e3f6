/**
 * The parts of the HTTP API that server, client and inspector share. The schemas are excluded, so that this module is
 * small enough for a browser.
 */
export { bodyOf } from './bodies.ts';
export { chunksOf } from './chunks.ts';
export {
  CAUGHT_UP_EVENT,
  decodePosition,
  END_EVENT,
  encodePosition,
  eventsOf,
  LIFE_MEMBER,
  PROBLEM_EVENT,
  RESET_EVENT,
  type ServerEvent,
} from './event-stream.ts';
export { filterToWire, type WireFilter } from './filters.ts';
export { checkLabelTexts } from './labels.ts';
export { jsonLinesOf, linesOf } from './lines.ts';
export {
  EVENT_STREAM,
  JSON_TYPE,
  LABELLED_BYTES,
  LAST_EVENT_ID_HEADER,
  LINES,
  PROBLEM_TYPE,
  TENANT_HEADER,
  TIMEOUT_HEADER,
} from './media-types.ts';
export {
  errorOfProblem,
  PROBLEM_DETAILS,
  type Problem,
  problemOfAnswer,
  problemOfLine,
  STATUS_OF,
} from './problems.ts';
export { type Parameters, queryOf } from './query.ts';
export { refuseOldNames, renamedIn, toOldNames, WIRE_VERSION } from './renamed.ts';
export type { RouteName } from './routes/index.ts';
export { decodeSegment, encodeSegment, idOfSegment, segmentOf } from './segments.ts';
export {
  type AnswerTo,
  type BodyTo,
  type ParamsTo,
  type QueryTo,
  type Target,
  targetOf,
  targetWith,
} from './target.ts';
export {
  base64Of,
  bytesOfWire,
  changeOfWire,
  entryOfWire,
  fieldsToWire,
  operationsToWire,
  recordOfWire,
  valueToWire,
  type WireBytes,
  type WireChange,
  type WireEntry,
  type WireRecord,
  type WireValue,
} from './values.ts';
