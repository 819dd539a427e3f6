/**
 * The error class of Tidemark. Every error has a stable code, and states whether a retry can succeed and whether
 * anything may have been written.
 */
import type { StoreWrite } from './writes.ts';

/** All error codes: the meaning of each, its remedy, and whether a retry of the same call can succeed. */
export const ERROR_CODES = {
  INVALID_ARGUMENT: {
    retryable: false,
    meaning:
      'An argument breaks a rule; `field` and `rule` say which, and `errors` lists all faults of an event. Nothing was written.',
    remedy: 'Correct the argument.',
  },
  INVALID_PAYLOAD: {
    retryable: false,
    meaning:
      'A payload contains a value that JSON cannot represent exactly, or does not match its schema; `field` is the path. Nothing was written.',
    remedy: 'Send plain JSON that matches the schema. Convert dates, maps and big integers to strings first.',
  },
  PAYLOAD_TOO_LARGE: {
    retryable: false,
    meaning: 'A value is larger than the limit in `info.limits`. Nothing was written.',
    remedy: 'Store it as an artifact and keep the reference.',
  },
  INVALID_TRANSITION: {
    retryable: false,
    meaning:
      'The run or step is in a state that does not allow the event. Thrown only with `rejectInvalidTransitions`.',
    remedy: 'Read the snapshot, then retry with an event that fits.',
  },
  SEQ_CONFLICT: {
    retryable: false,
    meaning: "`expectedSeq` does not match the run's last sequence, which is in `current`. Nothing was written.",
    remedy: 'Read the events added since, then retry with the new sequence.',
  },
  SCOPE_MISMATCH: {
    retryable: false,
    meaning: 'The run belongs to another project or environment; its first event decided that.',
    remedy: 'Use the scope of the run, or another run id.',
  },
  TENANT_MISMATCH: {
    retryable: false,
    meaning: 'The call names a different tenant than the view it was made on.',
    remedy: "Use that tenant's view, or the store itself.",
  },
  SESSION_MISMATCH: {
    retryable: false,
    meaning: 'The trace belongs to another session.',
    remedy: 'Use the session of the trace, or another trace id.',
  },
  AMBIGUOUS_RUN: {
    retryable: false,
    meaning: 'Several tenants have a run with this id.',
    remedy: 'Pass `tenantId`, or use `forTenant`.',
  },
  QUOTA_EXCEEDED: {
    retryable: false,
    meaning:
      "The call would exceed one of the tenant's quotas; `field` names the quota and `rule` its size. Nothing was written.",
    remedy: 'For a rate, wait; for other quotas, remove data or raise the quota.',
  },
  RUN_NOT_FOUND: {
    retryable: false,
    meaning: 'The run does not exist.',
    remedy: 'Check the id and the tenant.',
  },
  RUN_ARCHIVED: {
    retryable: false,
    meaning: 'The run was archived; `archive` is its location. Over HTTP only admins see the location.',
    remedy: 'Restore it first.',
  },
  RUN_DELETED: {
    retryable: false,
    meaning: 'The run was deleted; its id stays taken so that a late retry cannot bring it back.',
    remedy: 'Use a new run id.',
  },
  CORRUPT_EVENT: {
    retryable: false,
    meaning:
      'A stored event does not match its hash chain; `runId` and `runSeq` say which. Wrong data is never returned.',
    remedy: 'Run `verify`, then restore the run from a backup.',
  },
  CORRUPT_VALUE: {
    retryable: false,
    meaning:
      'A stored record, document or artifact does not match its checksum; `field` says which. Wrong data is never returned, and everything else can be read.',
    remedy: 'Store it again, or restore it from a backup; `doctor --deep` lists all damage.',
  },
  CODEC_FAILED: {
    retryable: false,
    meaning:
      'A payload cannot be encoded or decoded: its key is missing (`keyId` names it), it was altered or moved, or it is not encrypted although it must be. Wrong data is never returned.',
    remedy: 'Open the store with the codec and keys it was written with; restore altered data from a backup.',
  },
  PROJECTION_FAILED: {
    retryable: false,
    meaning:
      "A projection's handler threw; `field` names the projection, `runId` and `runSeq` the event. Nothing was stored.",
    remedy: 'Fix the handler; `cause` is the error it threw.',
  },
  CONFLICT: {
    retryable: false,
    meaning: 'The stored state does not allow the call; `current` is that state. Nothing was written.',
    remedy: 'Read it, then retry with a change that fits.',
  },
  CLAIM_LOST: {
    retryable: false,
    meaning: 'The lease expired, and another worker has the job or has finished it.',
    remedy: 'Stop working on the job; the call changed nothing.',
  },
  TOKEN_CONSUMED: {
    retryable: false,
    meaning: 'The pause token was already used.',
    remedy: 'Mint a new token.',
  },
  VERSION_CONFLICT: {
    retryable: false,
    meaning: '`expectedVersion` does not match the stored version, which is in `current`.',
    remedy: 'Load the state, then retry with its version.',
  },
  LIMIT_EXCEEDED: {
    retryable: false,
    meaning:
      'A limit on the number or bytes of artifacts was reached: that of the session, of the trace, or of artifacts that belong to neither.',
    remedy: 'Delete artifacts, or choose the strategy `lru` or `fifo`.',
  },
  NOT_FOUND: {
    retryable: false,
    meaning: 'The record, job, artifact or state does not exist.',
    remedy: 'Check the id and the tenant.',
  },
  UNAUTHENTICATED: {
    retryable: false,
    meaning: 'The key or token is missing, wrong, expired or revoked.',
    remedy: 'Send a valid key or token.',
  },
  FORBIDDEN: {
    retryable: false,
    meaning: 'The key or token does not permit the call; `rule` names the missing permission.',
    remedy: 'Use a key with that scope, tenant or session.',
  },
  UNSUPPORTED: {
    retryable: false,
    meaning: 'The store lacks this capability; see `info.capabilities`.',
    remedy: 'Use an engine that has it.',
  },
  STORE_CLOSED: {
    retryable: false,
    meaning: 'The store was closed.',
    remedy: 'Open it again.',
  },
  STORAGE_FULL: {
    retryable: false,
    meaning: 'The disk is full. Nothing was written; reads still work.',
    remedy: 'Free some space.',
  },
  STORAGE_ERROR: {
    retryable: false,
    meaning: 'The engine could not read or write its storage; `cause` is the reason.',
    remedy: 'Run `doctor`; check the file or server.',
  },
  SCHEMA_MISMATCH: {
    retryable: false,
    meaning: 'The data was written by a version of Tidemark that is too new for this one.',
    remedy: 'Update the tidemark packages.',
  },
  DRIVER_MISSING: {
    retryable: false,
    meaning: 'This URL or command needs an optional package that is not installed.',
    remedy: 'Install it; the message has the command.',
  },
  DURABILITY_TOO_WEAK: {
    retryable: false,
    meaning: "`durability: 'require'` is set, and this engine's configuration could lose an acknowledged write.",
    remedy: 'Fix the setting that the message names, or open the store without `require`.',
  },
  ABORTED: {
    retryable: false,
    meaning: 'The call was aborted by its signal before anything was written.',
    remedy: 'Nothing to do: you aborted it.',
  },
  TIMEOUT: {
    retryable: true,
    meaning: 'The call timed out and nothing was written.',
    remedy: 'Retry, or raise `timeoutMs`.',
  },
  OVERLOADED: {
    retryable: true,
    meaning: 'Too many calls are already waiting. Nothing was accepted.',
    remedy: 'Slow down and retry.',
  },
  UNAVAILABLE: {
    retryable: true,
    meaning: 'The engine cannot be reached or is locked at the moment. Nothing was written.',
    remedy: 'Retry.',
  },
  OUTCOME_UNKNOWN: {
    retryable: true,
    meaning:
      'The write may or may not have been stored: the reply was lost, a sync failed, or one run of a batch was rejected and others may have been written; `runId` and `cause` then name the rejection.',
    remedy:
      'Call `replay(store, error.write)`. It retries exactly this write, and its idempotency keys prevent a second one.',
  },
} as const satisfies Record<string, { retryable: boolean; meaning: string; remedy: string }>;

/** The stable, machine-readable code of an error. */
export type ErrorCode = keyof typeof ERROR_CODES;

type RetryableCode = {
  [Code in ErrorCode]: (typeof ERROR_CODES)[Code]['retryable'] extends true ? Code : never;
}[ErrorCode];

/**
 * The retryable codes of the table, which the compiler compares with it. The class does not read the table, so that
 * bundlers omit its texts from clients that do not show them.
 */
const RETRYABLE: Readonly<Record<RetryableCode, true>> = {
  TIMEOUT: true,
  OVERLOADED: true,
  UNAVAILABLE: true,
  OUTCOME_UNKNOWN: true,
};

/** One fault of a refused value. */
export interface FieldFault {
  /** The path of the invalid member, of at most 64 characters. */
  field: string;
  /** The rule that it breaks. */
  rule: string;
}

/** The details of an error, besides its code and message. */
export interface ErrorDetails {
  /** The path of the invalid argument: `payload.items[3].price`. */
  field?: string;
  /** The rule that it breaks: `1 to 512 UTF-8 bytes`. */
  rule?: string;
  /** For a refused event: its faults, one per member and at most 20. The first is `field` and `rule`. */
  errors?: readonly FieldFault[];
  /** The current value in the store: the run's last sequence, the memory state's version, … */
  current?: unknown;
  /**
   * For `OUTCOME_UNKNOWN`: the write, to pass to `replay`. Its keys make the retry safe. Absent if the write joined a
   * transaction of the caller. For `CODEC_FAILED` of `loadPlannerState`: the call, to replay on a store that can decode
   * the pause.
   */
  write?: StoreWrite;
  /** The run and the sequence of a damaged or refused event. */
  runId?: string;
  runSeq?: number;
  /** For `CODEC_FAILED`: the id of the key with which the payload was encrypted. */
  keyId?: string;
  /** For `RUN_ARCHIVED`: the location of the archive. */
  archive?: string;
  /** For `QUOTA_EXCEEDED` of a rate: the number of milliseconds to wait before a retry. */
  retryAfterMs?: number;
  /** The number of attempts, if the call was retried. */
  attempts?: number;
  /** The error that caused this one. */
  cause?: unknown;
}

/**
 * The error that every call of every store throws. `code` identifies the failure; see `ERROR_CODES`.
 *
 * @example
 * try {
 *   await store.runs.handle('order-42').append('RunStarted');
 * } catch (error) {
 *   if (!isTidemarkError(error, 'OUTCOME_UNKNOWN') || !error.write) throw error;
 *   await replay(store, error.write); // Stores the event unless the first attempt did.
 * }
 */
export class TidemarkError extends Error {
  override readonly name = 'TidemarkError';
  /** The stable code of the failure. */
  readonly code: ErrorCode;
  /** Whether a retry of the same call can succeed. */
  readonly retryable: boolean;
  /** `rejected`: nothing was written. `unknown`: the write may have been stored. */
  readonly outcome: 'rejected' | 'unknown';
  readonly field?: string;
  readonly rule?: string;
  readonly errors?: readonly FieldFault[];
  readonly current?: unknown;
  readonly write?: StoreWrite;
  readonly runId?: string;
  readonly runSeq?: number;
  readonly keyId?: string;
  readonly archive?: string;
  readonly retryAfterMs?: number;
  readonly attempts?: number;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { cause, ...rest } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = Object.hasOwn(RETRYABLE, code);
    this.outcome = code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'rejected';
    Object.assign(this, rest);
  }
}

/**
 * Returns whether a thrown value is a `TidemarkError`, with one of the given codes if there are any. Also recognises
 * errors of another copy of the package, for which `instanceof` fails.
 *
 * @example
 * try {
 *   await store.runs.projectSnapshot('missing');
 * } catch (error) {
 *   if (!isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED')) throw error;
 *   console.log(error.code); // RUN_NOT_FOUND
 * }
 */
export function isTidemarkError(error: unknown, ...codes: ErrorCode[]): error is TidemarkError {
  if (!(error instanceof Error) || error.name !== 'TidemarkError') return false;
  return codes.length === 0 || codes.includes((error as TidemarkError).code);
}

/** Creates an `INVALID_ARGUMENT` error that names the field and the rule. */
export function invalidArgument(field: string, rule: string, received?: unknown): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${field} must be ${rule}${describe(received)}`, { field, rule });
}

function describe(received: unknown): string {
  if (received === undefined) return '';
  if (typeof received === 'string') {
    const shown = withoutSecrets(received);
    return `, not ${JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown)}`;
  }
  if (typeof received === 'number' || typeof received === 'boolean' || received === null) return `, not ${received}`;
  return `, not a value of type ${Array.isArray(received) ? 'array' : typeof received}`;
}

/** Hides the rest of a string that may contain a password. `invalidUrl` shows the harmless parts of a URL. */
function withoutSecrets(text: string): string {
  const colon = text.indexOf(':');
  return colon >= 0 && /:\/\/|[@?]/.test(text.slice(colon)) ? `${text.slice(0, colon + 1)}***` : text;
}
