/** Streams are parsed the same way regardless of how they are split into chunks. */
import { describe, expect, it } from 'vitest';
import { chunksOf } from './chunks.ts';
import { decodePosition, encodePosition, eventsOf } from './event-stream.ts';
import { jsonLinesOf } from './lines.ts';

/** A body that arrives in chunks of `size` bytes. */
function inPieces(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
      controller.close();
    },
  });
}

describe('server-sent events', () => {
  const TEXT =
    ': beat\n\nid: 7\nevent: run.event\ndata: {"a":"ü\u2028"}\n\nevent: end\ndata: {}\n\ndata:a\ndata:b\n\nid: 9\n\n';

  it.each([1, 2, 3, 7, 1_000])('are read from chunks of %i bytes and keep the last id', async (size) => {
    expect(await Array.fromAsync(eventsOf(chunksOf(inPieces(TEXT, size))))).toEqual([
      { id: '7', event: 'run.event', data: '{"a":"ü\u2028"}' },
      { id: '7', event: 'end', data: '{}' },
      { id: '7', event: 'message', data: 'a\nb' },
    ]);
  });

  it('do not yield an event before its end has arrived', async () => {
    expect(await Array.fromAsync(eventsOf(chunksOf(inPieces('data: 1\n\ndata: 2\n', 4))))).toHaveLength(1);
  });
});

describe('lines', () => {
  it.each([1, 2, 5, 1_000])(
    'are read from chunks of %i bytes, including a last line without a newline',
    async (size) => {
      const text = '{"a":"ü"}\n\n[1,2]\n"last"';
      expect(await Array.fromAsync(jsonLinesOf(chunksOf(inPieces(text, size))))).toEqual([{ a: 'ü' }, [1, 2], 'last']);
    },
  );
});

describe('chunks', () => {
  it('report each wait, and cancel the body when the reader stops', async () => {
    let [begun, ended, isCancelled] = [0, 0, false];
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array([1])),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const _ of chunksOf(body, { begin: () => begun++, end: () => ended++ })) if (begun === 3) break;
    expect([begun, ended, isCancelled]).toEqual([3, 3, true]);
  });
});

describe('the position in several topics', () => {
  it('is restored from its id, and the id is base64url', () => {
    const position: [string, string | null][] = [
      ['runs/a%2Fb', '17'],
      ['kv/', null],
      ['events', '~?>'],
    ];
    expect([...decodePosition(encodePosition(position))]).toEqual(position);
    expect(encodePosition(position)).toBe(Buffer.from(JSON.stringify(position)).toString('base64url'));
  });

  it.each(['is empty for an id in another format: %s', '%', 'bm90IGpzb24', 'e30', 'WzFd'])(
    'is empty for an id that is not ours: %s',
    (id) => {
      expect(decodePosition(id).size).toBe(0);
    },
  );
});
