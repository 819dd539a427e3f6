/** How the records primitive on NATS deletes many records at once. */
import { describe, expect, it } from 'vitest';
import { RefusedByServer } from '../src/errors.ts';
import { Messages } from '../src/messages/messages.ts';
import { Spill } from '../src/messages/spill.ts';
import { Writer } from '../src/messages/writer.ts';
import { NatsRecords } from '../src/records.ts';
import { streamName, streamSubject } from '../src/streams/streams.ts';
import { WITHOUT_NATS } from './servers.ts';
import { newStreams, openLink, openStore, WITHIN_MS } from './stores.ts';

const KEYS = Array.from({ length: 20 }, (_, n) => `k${n}`);

/** Returns records over a link of their own, with `KEYS` stored by another process. */
async function withRecords() {
  const { url, prefix } = newStreams();
  const { kv } = await openStore({ url, prefix });
  for (const key of KEYS) await kv.put(key, { a: 1 });
  const link = await openLink(url);
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const part = (kind: 'records' | 'bytes') => {
    const messages = new Messages(link, streamName(prefix, kind), streamSubject(prefix, kind));
    return { messages, writer: new Writer(link, messages, random) };
  };
  const bytes = part('bytes');
  const spill = new Spill(bytes.messages, bytes.writer, random);
  const records = new NatsRecords({ link, ...part('records'), spill, clock: Date.now });
  const deleteAll = () => {
    const deletion = (key: string) => ({
      name: { space: 'kv' as const, tenantId: 'default', key },
      mode: 'delete' as const,
      set: new Map(),
    });
    return records.batch(KEYS.map(deletion), { deadline: Date.now() + WITHIN_MS });
  };
  const left = async () => (await kv.getMany(KEYS)).filter((record) => record !== null).length;
  return { link, deleteAll, left, subject: `${streamSubject(prefix, 'records')}.kv.default` };
}

describe.skipIf(WITHOUT_NATS)('a batch of deletions', () => {
  it('sends every deletion without waiting for the others', async () => {
    const { link, deleteAll, left, subject } = await withRecords();
    const ask = link.ask.bind(link);
    let [waiting, most] = [0, 0];
    link.ask = async (to, ...rest) => {
      if (!to.startsWith(subject)) return ask(to, ...rest);
      most = Math.max(most, ++waiting);
      return ask(to, ...rest).finally(() => waiting--);
    };
    expect((await deleteAll()).filter(({ applied, existed }) => applied && existed)).toHaveLength(KEYS.length);
    expect(await left()).toBe(0);
    expect(most).toBeGreaterThan(1);
  });

  it.each([
    ['one', 1, 'OUTCOME_UNKNOWN'],
    ['each', KEYS.length, 10_077],
  ])('that the server refuses for %s of them fails, and deletes the others', async (_, refused, code) => {
    const { link, deleteAll, left, subject } = await withRecords();
    const ask = link.ask.bind(link);
    const subjects = new Set(KEYS.slice(0, refused).map((key) => `${subject}.${key}`));
    link.ask = async (to, ...rest) => {
      if (subjects.has(to)) throw new RefusedByServer(10_077, 'maximum bytes exceeded');
      return ask(to, ...rest);
    };
    await expect(deleteAll()).rejects.toMatchObject({ code });
    expect(await left()).toBe(refused);
  });
});
