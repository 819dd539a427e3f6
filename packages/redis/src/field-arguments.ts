/** The names of fields and of their checksums as arguments of commands. A program uses few, so they are encoded once. */
import { encodeText } from './protocol/encode.ts';
import { companionOf } from './record-sums.ts';

const MAX_FIELDS = 1_000;
const LONGEST = 100;

export interface FieldArguments {
  name: string;
  /** The name of the field's checksum field. */
  companion: string;
}

const encoded = new Map<string, FieldArguments>();

export function fieldArguments(field: string): FieldArguments {
  return encoded.get(field) ?? encode(field);
}

function encode(field: string): FieldArguments {
  const it = { name: encodeText(field), companion: encodeText(companionOf(field)) };
  if (field.length > LONGEST) return it;
  if (encoded.size >= MAX_FIELDS) encoded.clear();
  encoded.set(field, it);
  return it;
}
