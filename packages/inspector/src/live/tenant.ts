/** The tenant of a request; `undefined` for the tenant of the key, or the default tenant. */
export type Tenant = string | undefined;
