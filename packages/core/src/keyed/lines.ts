/** Bodies of journal entries: one line of JSON for the engine's fields, then the owner's text unchanged. */
import { corruptValue } from '../checks/damage.ts';
import type { JournalEntry } from '../engine/journal.ts';

/** Prepends a header, which readers can split off without parsing the text. */
export function withHeader(header: readonly unknown[], text: string): string {
  return `${JSON.stringify(header)}\n${text}`;
}

/**
 * Splits header and text at the first line end, since JSON has none. Throws `CORRUPT_VALUE` if the header is not JSON.
 */
export function splitHeader<T extends readonly unknown[]>({
  key,
  body,
}: Pick<JournalEntry, 'key' | 'body'>): {
  header: T;
  text: string;
} {
  const end = body.indexOf('\n');
  try {
    return { header: JSON.parse(body.slice(0, end)) as T, text: body.slice(end + 1) };
  } catch (error) {
    throw corruptValue('entry', key, error);
  }
}
