/** Returns 128 random bits in hex. Works without TLS, which `crypto.randomUUID` requires. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
