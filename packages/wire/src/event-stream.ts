/** Parses server-sent events from a stream of bytes. */

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
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | null = null;
  for await (const chunk of stream) {
    // The blank line that ends a block may start with the last character of the previous chunk, so the search includes
    // it.
    const from = Math.max(0, rest.length - 1);
    rest += decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = rest.indexOf('\n\n', from); end >= 0; end = rest.indexOf('\n\n', start)) {
      const event = parseBlock(rest.slice(start, end), id);
      start = end + 2;
      id = event.id;
      if (event.data !== '') yield event;
    }
    rest = rest.slice(start);
  }
}

function parseBlock(block: string, lastId: string | null): ServerEvent {
  const event: ServerEvent = { id: lastId, event: 'message', data: '' };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (line.startsWith('id:')) event.id = value;
    else if (line.startsWith('event:')) event.event = value;
    else if (line.startsWith('data:')) event.data += event.data === '' ? value : `\n${value}`;
  }
  return event;
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
