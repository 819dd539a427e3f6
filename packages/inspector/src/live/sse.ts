/** Server-sent events read with `fetch`, which can say who asks and where to go on; the browser's own reader cannot. */

export interface ServerSentEvent {
  /** Of the last event that had one. */
  id: string | null;
  event: string;
  data: string;
}

/** The events of a response, as they come. `onSign` is called for every sign of life, of which not each is an event. */
export async function* eventsOf(body: ReadableStream<Uint8Array>, onSign: () => void): AsyncGenerator<ServerSentEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let text = '';
  let id: string | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onSign();
      text += value;
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) {
        const event = parseBlock(block, id);
        id = event.id;
        if (event.data !== '') yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string, lastId: string | null): ServerSentEvent {
  const parsed: ServerSentEvent = { id: lastId, event: 'message', data: '' };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (line.startsWith('id:')) parsed.id = value;
    else if (line.startsWith('event:')) parsed.event = value;
    else if (line.startsWith('data:')) parsed.data += parsed.data === '' ? value : `\n${value}`;
  }
  return parsed;
}
