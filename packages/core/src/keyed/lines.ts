/** Bodies of journal entries: one line of JSON for what the engine needs, then the owner's text as it is. */
import { corruptValue } from '../checks/damage.ts';
import type { JournalEntry } from '../engine/journal.ts';

/** A header that any reader can take apart again without looking at the text. */
export function withHeader(header: readonly unknown[], text: string): string {
  return `${JSON.stringify(header)}\n${text}`;
}

/** The header and the text; JSON has no raw line ends, so the first one is the border. A header that is no JSON is damaged. */
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
