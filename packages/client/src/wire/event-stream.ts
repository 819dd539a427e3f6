/** Server-sent events out of a stream of bytes. */

export interface ServerEvent {
  /** The last id so far, `null` before the first. */
  id: string | null;
  event: string;
  data: string;
}

/** The events of a stream, as they are complete. */
export async function* eventsOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | null = null;
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n', start)) {
      const event = parseBlock(rest.slice(start, end));
      start = end + 2;
      id = event.id ?? id;
      if (event.data !== '') yield { ...event, id };
    }
    rest = rest.slice(start);
  }
}

function parseBlock(block: string): ServerEvent {
  const event: ServerEvent = { id: null, event: 'message', data: '' };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(': ');
    const value = line.slice(colon + 2);
    if (line.startsWith('id: ')) event.id = value;
    else if (line.startsWith('event: ')) event.event = value;
    else if (line.startsWith('data: ')) event.data += value;
  }
  return event;
}
