/** How many bytes a text has in UTF-8, also where there is no `Buffer`. */
const { Buffer } = globalThis;

export const byteLength: (text: string) => number = Buffer
  ? (text) => Buffer.byteLength(text)
  : (text) => new TextEncoder().encode(text).length;
