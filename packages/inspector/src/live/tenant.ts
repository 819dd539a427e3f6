/** Whose things a request is about. */

/** `undefined`: the tenant of the key, or the default one. */
export type Tenant = string | undefined;
