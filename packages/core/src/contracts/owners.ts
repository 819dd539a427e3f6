/** Data that belongs to an adapter, such as the sessions of an agent framework (ADP-1). */

/**
 * The label of runs that belong to an adapter; its value is the name of the adapter. `listRuns` and `countRuns` omit
 * such runs unless the filter selects an owner.
 */
export const OWNER_LABEL = 'tidemark.owner';

/** The label that holds the display name of such a run, such as the id of a session. */
export const NAME_LABEL = 'tidemark.name';

/** The value of `owner` in a filter that selects all runs, whether or not they belong to an adapter. */
export const ANY_OWNER = 'any';
