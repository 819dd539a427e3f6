/** Returns the length of a string in UTF-8 bytes. Also works where `Buffer` does not exist. */
const { Buffer } = globalThis;

export const byteLength: (text: string) => number = Buffer
  ? (text) => Buffer.byteLength(text)
  : (text) => new TextEncoder().encode(text).length;
