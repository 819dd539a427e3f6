/** Media types of bodies, and Tidemark's own headers. */

export const JSON_TYPE = 'application/json';
/** One JSON value per line. */
export const LINES = 'application/x-ndjson';
export const EVENT_STREAM = 'text/event-stream';
export const PROBLEM_TYPE = 'application/problem+json';
/** One line of JSON with the artifact's options, followed by its bytes. */
export const LABELLED_BYTES = 'application/vnd.tidemark.artifact';

/** The tenant for which an operator acts, percent-encoded as in a path. */
export const TENANT_HEADER = 'tidemark-tenant';
/** The caller's timeout, in milliseconds. */
export const TIMEOUT_HEADER = 'tidemark-timeout';
/** The id of the last event that the reader received. */
export const LAST_EVENT_ID_HEADER = 'last-event-id';
