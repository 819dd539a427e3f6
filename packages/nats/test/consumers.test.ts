/** Consumers that pass over messages, as those of 2.9.10 do when subjects are purged while others are written to. */
import type { Msg } from '@nats-io/nats-core';
import type { Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Follower, walk } from '../src/consumers.ts';
import type { Link } from '../src/link.ts';
import { Messages } from '../src/messages.ts';
import { streamName, streamSubject } from '../src/streams.ts';
import { WITHOUT_NATS } from './servers.ts';
import { newStreams, openLink, openStore, runEvent, WITHIN_MS } from './stores.ts';

/** A delivery as it is numbered by a consumer that passed over one before it. */
function renumbered(msg: Msg): Msg {
  const tokens = msg.reply!.split('.');
  const at = tokens.length >= 11 ? 8 : 6;
  tokens[at] = String(Number(tokens[at]) - 1);
  return new Proxy(msg, { get: (own, name) => (name === 'reply' ? tokens.join('.') : Reflect.get(own, name)) });
}

/** From now on, consumers of this link pass over their delivery of that number. */
function passingOver(link: Link, delivery: number): Link {
  const listen = link.listen.bind(link);
  link.listen = (onMessage) => {
    let deliveries = 0;
    return listen((msg) => {
      if ((msg.headers?.code ?? 0) !== 0) onMessage(msg);
      else if (++deliveries !== delivery) onMessage(deliveries > delivery ? renumbered(msg) : msg);
    });
  };
  return link;
}

/** Five messages of five runs, and what reads them. */
async function fiveMessages(): Promise<{ store: Store; link: Link; messages: Messages; filter: string }> {
  const { url, prefix } = newStreams();
  const store = await openStore({ url, prefix });
  for (const runId of ['1', '2', '3', '4', '5']) await store.runs.appendEvent(runEvent(runId));
  const link = await openLink(url);
  const messages = new Messages(link, streamName(prefix, 'runs'), streamSubject(prefix, 'runs'));
  return { store, link, messages, filter: `${messages.subject}.>` };
}

describe.skipIf(WITHOUT_NATS)('a message that a consumer passed over', () => {
  it.each([1, 3])('is given by a follower in its place, as delivery %i', async (delivery) => {
    const { link, messages, filter } = await fiveMessages();
    const seen: number[] = [];
    const follower = new Follower(passingOver(link, delivery), {
      messages,
      filter,
      start: 1,
      headersOnly: true,
      onMessage: ({ seq }) => seen.push(seq),
    });
    onTestFinished(() => follower.stop());
    await expect.poll(() => seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('is given by a follower of what is new that was stored while its consumer was made', async () => {
    const { link, messages, filter, store } = await fiveMessages();
    const ask = link.ask.bind(link);
    link.ask = async (subject, ...rest) => {
      if (subject.startsWith('$JS.API.CONSUMER.CREATE.')) await store.runs.appendEvent(runEvent('6'));
      return ask(subject, ...rest);
    };
    const seen: number[] = [];
    const onMessage = ({ seq }: { seq: number }) => seen.push(seq);
    const follower = new Follower(link, { messages, filter, start: 'new', headersOnly: true, onMessage });
    onTestFinished(() => follower.stop());
    await expect.poll(() => seen).toEqual([6]);
  });

  it('is given by a follower that is asked for it, as the last', async () => {
    const { link, messages, filter } = await fiveMessages();
    const seen: number[] = [];
    const follower = new Follower(passingOver(link, 5), {
      messages,
      filter,
      start: 1,
      headersOnly: true,
      onMessage: ({ seq }) => seen.push(seq),
    });
    onTestFinished(() => follower.stop());
    await expect.poll(() => seen).toEqual([1, 2, 3, 4]);
    await follower.fillUpTo(5, { deadline: Date.now() + WITHIN_MS });
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([1, 3, 5])('is given by a walk in its place, as delivery %i', async (delivery) => {
    const { link, messages, filter } = await fiveMessages();
    const seen: number[] = [];
    const call = { deadline: Date.now() + WITHIN_MS };
    for await (const { seq } of walk(passingOver(link, delivery), messages, { filter, from: 1, last: 5 }, call))
      seen.push(seq);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});
