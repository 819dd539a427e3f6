/** Types of bodies, and headers of our own. */

export const JSON_TYPE = 'application/json';
/** One JSON value a line. */
export const LINES = 'application/x-ndjson';
export const EVENT_STREAM = 'text/event-stream';
export const PROBLEM_TYPE = 'application/problem+json';
/** A line of JSON about the bytes, and then the bytes. */
export const LABELLED_BYTES = 'application/vnd.tidemark.artifact';

/** Which tenant an operator speaks for, percent-encoded as in a path. */
export const TENANT_HEADER = 'tidemark-tenant';
/** How many milliseconds the caller waits at most. */
export const TIMEOUT_HEADER = 'tidemark-timeout';
/** The id of the last event that a reader of a stream has seen. */
export const LAST_EVENT_ID_HEADER = 'last-event-id';
