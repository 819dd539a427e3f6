/** The tenant of the records that the store and the server keep for themselves. The HTTP API refuses it. */
export const SYSTEM_TENANT = 'tidemark.system';
