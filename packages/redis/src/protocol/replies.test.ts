/** Replies are the same however the network divides them, and bytes that are not RESP end the connection. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtocolError, type Reply, ReplyDecoder, ReplyError } from './replies.ts';

/** A line cannot contain line ends. */
const line = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, ' '));
const LARGEST = Number.MAX_SAFE_INTEGER;

const anyReply = fc.letrec<{ reply: Reply; list: Reply }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 4 },
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('\r\n', '$-1\r\n', '*2\r\n', '').map((text) => Buffer.from(text)),
    fc.integer({ min: -LARGEST, max: LARGEST }),
    fc.constant(null),
    line,
    line.map((text) => new ReplyError(text)),
    tie('list'),
  ),
  list: fc.array(tie('reply'), { maxLength: 5 }),
})).reply;

function encode(reply: Reply): Buffer {
  if (reply === null) return Buffer.from('$-1\r\n');
  if (typeof reply === 'number') return Buffer.from(`:${reply}\r\n`);
  if (typeof reply === 'string') return Buffer.from(`+${reply}\r\n`);
  if (reply instanceof ReplyError) return Buffer.from(`-${reply.message}\r\n`);
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(`$${reply.length}\r\n`), reply, Buffer.from('\r\n')]);
  const items = reply as Reply[];
  return Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items.map(encode)]);
}

function decode(chunks: readonly Buffer[]): Reply[] {
  const replies: Reply[] = [];
  const decoder = new ReplyDecoder((reply) => replies.push(reply));
  for (const chunk of chunks) decoder.write(chunk);
  return replies;
}

/** Divides bytes into chunks of these sizes, which repeat. */
function divide(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = sizes[chunks.length % sizes.length]!;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('replies', () => {
  it('are decoded for any division into chunks', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(anyReply, { maxLength: 6 }), sizes, (replies, sizes) => {
        const bytes = Buffer.concat(replies.map(encode));
        expect(decode(divide(bytes, sizes))).toEqual(replies);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are decoded at every position where one chunk may end and the next begin', () => {
    const replies = [[Buffer.from('a\r\nb'), null, [-12, new ReplyError('OOM no room')], []], 'OK', Buffer.alloc(0), 7];
    const bytes = Buffer.concat(replies.map(encode));
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(decode([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(replies);
  });

  it('may be large, and other replies may follow in the same chunk', () => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'x');
    const replies = [large, [large, 1], null];
    const found = decode(divide(Buffer.concat(replies.map(encode)), [65_536]));
    expect(found).toHaveLength(3);
    expect(large.equals(found[0] as Buffer)).toBe(true);
    expect(large.equals((found[1] as Buffer[])[0]!)).toBe(true);
    expect([(found[1] as Reply[])[1], found[2]]).toEqual([1, null]);
  });

  it('that are errors have the first word as their code', () => {
    const codes = decode([Buffer.from('-MOVED 3999 127.0.0.1:6381\r\n-NOSCRIPT No matching script\r\n-weird\r\n')]);
    expect(codes.map((error) => (error as ReplyError).code)).toEqual(['MOVED', 'NOSCRIPT', 'ERR']);
  });
});

describe('bytes that are not RESP 2', () => {
  it.each([
    ['an answer over HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a push of RESP 3', '>2\r\n+message\r\n+x\r\n'],
    ['a number with a letter', ':12a\r\n'],
    ['a length that is too short', '$2\r\nabc\r\n+OK\r\n'],
  ])('are refused: %s', (_, text) => {
    expect(() => decode([Buffer.from(text)])).toThrow(ProtocolError);
  });
});
