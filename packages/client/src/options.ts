/** Options of every store over HTTP. */
export interface ConnectionOptions {
  /** URL of the server, such as `http://127.0.0.1:4100`, with a path if a proxy adds one. */
  url: string;
  /** An API key or a JWT, which is sent as a bearer token. */
  token?: string;
  /** A function to call instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Default time limit of a call in milliseconds. Default 5 000. */
  timeoutMs?: number;
  /** `require` rejects a server whose store could lose an acknowledged write in a power failure. */
  durability?: 'require';
}
