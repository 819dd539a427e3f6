/** How a writer handles the answers of a cluster under load. */
import type { Msg } from '@nats-io/nats-core';
import { describe, expect, it } from 'vitest';
import { Messages } from '../src/messages/messages.ts';
import { Writer } from '../src/messages/writer.ts';
import { streamName, streamSubject } from '../src/streams/streams.ts';
import { WITHOUT_NATS } from './servers.ts';
import { newStreams, openLink, openStore, WITHIN_MS } from './stores.ts';

const call = () => ({ deadline: Date.now() + WITHIN_MS });

async function newWriters(count: number) {
  const { url, prefix } = newStreams();
  await openStore({ url, prefix });
  const open = async () => {
    const link = await openLink(url);
    const messages = new Messages(link, streamName(prefix, 'records'), streamSubject(prefix, 'records'));
    const writer = new Writer(link, messages, (length) => crypto.getRandomValues(new Uint8Array(length)));
    return { link, messages, writer, subject: `${messages.subject}.kv.t.k` };
  };
  return Promise.all(Array.from({ length: count }, open));
}

describe.skipIf(WITHOUT_NATS)('a writer', () => {
  it('reports a lost race even when more versions follow immediately', async () => {
    const [ours, theirs] = (await newWriters(2)) as [Writers, Writers];
    const { link, writer, subject } = ours;
    const ask = link.ask.bind(link);
    let looks = 0;
    link.ask = async (to, ...rest) => {
      if (to === subject) {
        const seq = await theirs.writer.publish({ subject, expected: 0, headers: {}, body: 'theirs' }, call());
        // A cluster answers like this when two messages with the same id arrive at once.
        return { data: Buffer.from(JSON.stringify({ seq, duplicate: true })) } as unknown as Msg;
      }
      const answer = await ask(to, ...rest);
      // Right after the first read, enough versions are written that the one it found is dropped.
      if (to.includes('STREAM.MSG.GET') && ++looks === 1) {
        let last = (await theirs.messages.last(subject, call()))!.seq;
        for (let version = 0; version < 8; version++)
          last = (await theirs.writer.publish({ subject, expected: last, headers: {}, body: 'more' }, call()))!;
      }
      return answer;
    };
    expect(await writer.publish({ subject, expected: 0, headers: {}, body: 'ours' }, call())).toBeNull();
  });
});

type Writers = Awaited<ReturnType<typeof newWriters>>[number];
