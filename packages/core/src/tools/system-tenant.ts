/**
 * The tenant of the records that the store and the server keep for themselves. The HTTP API refuses it.
 *
 * @example
 * const { items } = await store.runs.listRuns({ tenantId: SYSTEM_TENANT });
 * console.log(items); // []
 */
export const SYSTEM_TENANT = 'tidemark.system';
