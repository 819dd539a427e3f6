/** The names of fields as arguments of commands. A program uses few of them, so they are encoded once. */
import { encodeText } from './protocol/encode.ts';

const MOST_FIELDS = 1_000;
const LONGEST = 100;
const encoded = new Map<string, string>();

export function fieldArgument(field: string): string {
  return encoded.get(field) ?? encode(field);
}

function encode(field: string): string {
  const argument = encodeText(field);
  if (field.length > LONGEST) return argument;
  if (encoded.size >= MOST_FIELDS) encoded.clear();
  encoded.set(field, argument);
  return argument;
}
