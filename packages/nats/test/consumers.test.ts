/** Consumers that skip messages, like those of 2.9.10 when subjects are purged while others are written to. */
import type { Msg } from '@nats-io/nats-core';
import type { Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Link } from '../src/connection/link.ts';
import { Messages } from '../src/messages/messages.ts';
import { Follower, walk } from '../src/streams/consumers.ts';
import { streamName, streamSubject } from '../src/streams/streams.ts';
import { WITHOUT_NATS } from './servers.ts';
import { newStreams, openLink, openStore, runEvent, WITHIN_MS } from './stores.ts';

/** Renumbers a delivery as if the consumer had skipped some before it. */
function renumbered(msg: Msg, passedOver = 1): Msg {
  const tokens = msg.reply!.split('.');
  const at = tokens.length >= 11 ? 8 : 6;
  tokens[at] = String(Number(tokens[at]) - passedOver);
  return new Proxy(msg, { get: (own, name) => (name === 'reply' ? tokens.join('.') : Reflect.get(own, name)) });
}

/** Makes consumers of this link skip their delivery of that number. */
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

/** Stores five messages of five runs, and returns their readers. */
async function fiveMessages(): Promise<{ store: Store; link: Link; messages: Messages; filter: string }> {
  const { url, prefix } = newStreams();
  const store = await openStore({ url, prefix });
  for (const runId of ['1', '2', '3', '4', '5']) await store.runs.appendEvent(runEvent(runId));
  const link = await openLink(url);
  const messages = new Messages(link, streamName(prefix, 'runs'), streamSubject(prefix, 'runs'));
  return { store, link, messages, filter: `${messages.subject}.>` };
}

describe.skipIf(WITHOUT_NATS)('a message that a consumer skipped', () => {
  it.each([1, 3])('is delivered by a follower in order, as delivery %i', async (delivery) => {
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

  it('is delivered by a follower of new messages, if stored while its consumer was created', async () => {
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

  it('is delivered by a follower on request, as the last', async () => {
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

  it.each([1, 3, 5])('is delivered by a walk in order, as delivery %i', async (delivery) => {
    const { link, messages, filter } = await fiveMessages();
    const seen: number[] = [];
    const call = { deadline: Date.now() + WITHIN_MS };
    for await (const { seq } of walk(passingOver(link, delivery), messages, { filter, from: 1, last: 5 }, call))
      seen.push(seq);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});

/** Counts the messages that are read one by one. */
function countingQuestions(link: Link): () => number {
  let questions = 0;
  const ask = link.ask.bind(link);
  link.ask = (subject, ...rest) => {
    if (subject.startsWith('$JS.API.STREAM.MSG.GET.')) questions++;
    return ask(subject, ...rest);
  };
  return () => questions;
}

/** Makes the first consumer of this link skip all messages between two sequences, as after a purge of a subject. */
function jumping(link: Link, after: number, to: number): Link {
  const listen = link.listen.bind(link);
  let isFirst = true;
  link.listen = (onMessage) => {
    if (!isFirst) return listen(onMessage);
    isFirst = false;
    let passedOver = 0;
    return listen((msg) => {
      const seq = Number(msg.reply?.split('.').at(-4));
      if ((msg.headers?.code ?? 0) !== 0) onMessage(msg);
      else if (seq > after && seq < to) passedOver++;
      else onMessage(renumbered(msg, passedOver));
    });
  };
  return link;
}

describe.skipIf(WITHOUT_NATS)('many messages that a consumer skipped', () => {
  const ALL = Array.from({ length: 60 }, (_, at) => at + 1);

  async function sixtyMessages() {
    const { store, ...rest } = await fiveMessages();
    for (let n = 6; n <= 60; n++) await store.runs.appendEvent(runEvent(String(n)));
    return { ...rest, questions: countingQuestions(rest.link) };
  }

  it.each([
    [2, 58],
    [2, 61],
    [0, 61],
  ])('are read by another consumer in a walk, those after %i and before %i', async (after, to) => {
    const { link, messages, filter, questions } = await sixtyMessages();
    const range = { filter, from: 1, last: 60 };
    const call = { deadline: Date.now() + WITHIN_MS };
    const seen = await Array.fromAsync(walk(jumping(link, after, to), messages, range, call), ({ seq }) => seq);
    expect(seen).toEqual(ALL);
    expect(questions()).toBeLessThan(12);
  });

  it('are delivered by another consumer of a follower', async () => {
    const { link, messages, filter, questions } = await sixtyMessages();
    const seen: number[] = [];
    const onMessage = ({ seq }: { seq: number }) => seen.push(seq);
    const follower = new Follower(jumping(link, 2, 58), { messages, filter, start: 1, headersOnly: true, onMessage });
    onTestFinished(() => follower.stop());
    await expect.poll(() => seen).toEqual(ALL);
    expect(questions()).toBeLessThan(12);
  });
});

describe.skipIf(WITHOUT_NATS)('a gap in a stream', () => {
  it('is queried once, even if readers pass it often', async () => {
    const { store, link, messages, filter } = await fiveMessages();
    for (const runId of ['2', '4']) await store.runs.deleteRun(runId);
    const last = await messages.lastSeq({ deadline: Date.now() + WITHIN_MS });
    const questions = countingQuestions(link);
    const read = () => {
      const call = { deadline: Date.now() + WITHIN_MS };
      return Array.fromAsync(walk(link, messages, { filter, from: 1, last }, call), ({ seq }) => seq);
    };
    const first = await read();
    expect(first, 'two events are gone and two tombstones there').toEqual([1, 3, 5, 6, 7]);
    expect(questions()).toBe(2);
    expect(await read()).toEqual(first);
    expect(questions(), 'the second walk knows the gaps').toBe(2);
  });

  it('is not queried individually where there are many', async () => {
    const { store, link, messages, filter } = await fiveMessages();
    for (let n = 0; n < 40; n++) await store.runs.appendEvent(runEvent(`more-${n}`));
    for (let n = 0; n < 40; n += 2) await store.runs.deleteRun(`more-${n}`);
    const last = await messages.lastSeq({ deadline: Date.now() + WITHIN_MS });
    const questions: string[] = [];
    const ask = link.ask.bind(link);
    link.ask = (subject, ...rest) => {
      questions.push(subject);
      return ask(subject, ...rest);
    };
    const call = { deadline: Date.now() + WITHIN_MS };
    const seen = await Array.fromAsync(walk(link, messages, { filter, from: 1, last }, call), ({ seq }) => seq);
    expect(seen.length).toBe(5 + 20 + 20);
    expect(questions.filter((subject) => subject.includes('STREAM.MSG.GET'))).toEqual([]);
    questions.length = 0;
    const followed: number[] = [];
    const onMessage = ({ seq }: { seq: number }) => followed.push(seq);
    const follower = new Follower(link, {
      messages: new Messages(link, messages.stream, messages.subject),
      filter,
      start: 1,
      headersOnly: true,
      onMessage,
    });
    onTestFinished(() => follower.stop());
    await expect.poll(() => followed).toEqual(seen);
    expect(questions.length, 'a follower asks about few by themselves').toBeLessThan(14);
  });
});
