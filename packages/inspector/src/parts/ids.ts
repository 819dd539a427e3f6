/** Ids that the page mints for what it writes. */

/** 128 random bits in hex; also where the page did not come over TLS, which `crypto.randomUUID` asks for. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
