/** Parses server-sent events from a stream of bytes. */
import { linesOf } from './lines.ts';

export interface ServerEvent {
  /** The last id received so far; `null` before the first. */
  id: string | null;
  event: string;
  data: string;
}

/** Events about the stream itself. All other events contain an item. */
export const CAUGHT_UP_EVENT = 'caught-up';
export const RESET_EVENT = 'reset';
/** The member of an event in a feed stream that contains the life of its run. Absent in the first life. */
export const LIFE_MEMBER = 'tidemark.life';
export const PROBLEM_EVENT = 'problem';
export const END_EVENT = 'end';

/** Yields each event once it is complete. Skips comments and events without data. */
export async function* eventsOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let id: string | null = null;
  let event = 'message';
  let data: string[] = [];
  for await (const line of linesOf(stream)) {
    const [, name, value] = /^(\w*):? ?(.*)/s.exec(line)!;
    if (name === 'id') id = value!;
    else if (name === 'event') event = value!;
    else if (name === 'data') data.push(value!);
    else if (line === '') {
      if (data.length > 0) yield { id, event, data: data.join('\n') };
      event = 'message';
      data = [];
    }
  }
}

/** The reader's cursor in each topic of a stream. Topics and cursors are percent-encoded text. */
export type Position = readonly (readonly [topic: string, cursor: string | null])[];

/** Encodes a position as an event id. */
export function encodePosition(position: Position): string {
  return btoa(JSON.stringify(position)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decodes an event id into the cursor of each topic. Returns an empty map for an id in another format. */
export function decodePosition(id: string): Map<string, string | null> {
  try {
    const position: unknown = JSON.parse(atob(id.replaceAll('-', '+').replaceAll('_', '/')));
    if (Array.isArray(position)) return new Map(position as [string, string | null][]);
  } catch {
    // The id is not base64, not JSON, or not a list of pairs.
  }
  return new Map();
}
