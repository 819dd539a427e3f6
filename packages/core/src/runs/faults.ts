/** Collects the errors of an invalid event, so that its producer can correct all of them at once (GEN-11). */
import { isPlainObject } from '../checks/text.ts';
import { type ErrorCode, type FieldFault, isTidemarkError, TidemarkError } from '../contracts/errors.ts';

const MAX_FAULTS = 20;
const MAX_NAME_CHARACTERS = 64;

/** Valid values of required fields. All other fields are removed. */
const VALID_VALUES: Readonly<Record<string, string>> = { runId: 'run', eventType: 'event', stepId: 'step' };

/** Creates the error of an invalid event. The first fault is its `field` and `rule`. */
export function eventRefusal(code: ErrorCode, message: string, faults: readonly FieldFault[]): TidemarkError {
  const [first, ...others] = faults;
  const also = others.length === 0 ? '' : `; also invalid: ${others.map(({ field }) => field).join(', ')}`;
  return new TidemarkError(code, message + also, { ...first, errors: faults });
}

/**
 * Returns the error with all faults of the event: corrects the fault that was found and checks again. `check` fills in
 * missing fields. Runs only after a rejection, so that valid events are checked once. Returns other errors unchanged.
 */
export function withAllFaults(error: unknown, input: unknown, check: (event: object) => void): unknown {
  if (!isFault(error)) return error;
  const faults = new Map<string, FieldFault>();
  const event: Record<string, unknown> = isPlainObject(input) ? { ...input } : {};
  let found: TidemarkError & FieldFault = error;
  while (faults.size < MAX_FAULTS) {
    const member = memberOf(found.field, event);
    const isKnown = faults.has(member);
    if (!isKnown) faults.set(member, { field: shortName(found.field), rule: found.rule });
    // The fault does not concern a single member, or correcting the member did not help.
    if (member === 'event' || (isKnown && event[member] === undefined)) break;
    event[member] = isKnown ? undefined : VALID_VALUES[member];
    try {
      check(event);
      break;
    } catch (next) {
      if (!isFault(next)) break;
      found = next;
    }
  }
  const [first, ...others] = faults.values();
  const named = { ...first!, field: error.field };
  return Object.assign(eventRefusal(error.code, error.message, [first!, ...others]), named, { cause: error.cause });
}

function isFault(error: unknown): error is TidemarkError & FieldFault {
  if (!isTidemarkError(error, 'INVALID_ARGUMENT', 'INVALID_PAYLOAD', 'PAYLOAD_TOO_LARGE')) return false;
  return error.field !== undefined && error.rule !== undefined;
}

/** Returns the member of the event at the start of a path. Paths of extra members begin with `event.`. */
function memberOf(path: string, event: Record<string, unknown>): string {
  const inEvent = path.startsWith('event.') ? path.slice('event.'.length) : path;
  const isMember = (name: string) =>
    inEvent === name || (inEvent.startsWith(name) && '.[ '.includes(inEvent[name.length]!));
  return Object.keys(event).find(isMember) ?? inEvent;
}

function shortName(name: string): string {
  return name.length > MAX_NAME_CHARACTERS ? `${name.slice(0, MAX_NAME_CHARACTERS - 1).toWellFormed()}…` : name;
}
