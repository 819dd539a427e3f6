/** The streams of a store that several processes open at once, or whose subjects another stream has. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { RefusedByServer } from '../src/errors.ts';
import { natsStore } from '../src/index.ts';
import { prepareStreams, STREAM_KINDS, safeConfig, streamInfo, streamName } from '../src/streams/streams.ts';
import { askServer, newPrefix, WITHOUT_NATS } from './servers.ts';
import { newStreams, openLink, openStore, runEvent, WITHIN_MS } from './stores.ts';

/** Prepares streams on a server that executes each request but answers with the given refusal, if any. */
async function preparedWith(refusalOf: (subject: string) => Error | false): Promise<void> {
  const { url, prefix } = newStreams();
  const link = await openLink(url);
  const call = { deadline: Date.now() + WITHIN_MS };
  const ask = link.ask.bind(link);
  link.ask = async (subject, ...rest) => {
    const answer = await ask(subject, ...rest);
    const refusal = refusalOf(subject.replace('$JS.API.', ''));
    if (refusal) throw refusal;
    return answer;
  };
  await prepareStreams(link, prefix, undefined, call);
  link.ask = ask;
  for (const kind of STREAM_KINDS)
    expect((await streamInfo(link, streamName(prefix, kind), call)).config).toMatchObject(safeConfig(prefix, kind, 1));
}

describe.skipIf(WITHOUT_NATS)('streams', () => {
  it('are created once by eight clients that open an empty server at once, and all of them succeed', async () => {
    for (let round = 0; round < 20; round++) {
      const { url, prefix } = newStreams();
      const stores = await Promise.all(Array.from({ length: 8 }, () => openStore({ url, prefix })));
      await Promise.all(stores.map((store, at) => store.runs.appendEvent(runEvent('r', `key-${at}`))));
      expect(await stores[0]!.runs.headSeq('r')).toBe(8);
    }
  });

  it.each([
    [10058, 'stream name already in use with a different configuration'],
    [10065, 'subjects overlap with an existing stream'],
  ])('that another client created first are used, though the server refuses with %i', async (code, says) => {
    // The server checks the name and the subjects under two locks; in between, another client's request is executed.
    await preparedWith((subject) => subject.startsWith('STREAM.CREATE.') && new RefusedByServer(code, says));
  });

  it('that exist but are unknown to a member of a cluster are waited for', async () => {
    const asked: string[] = [];
    await preparedWith((subject) => {
      if (!subject.startsWith('STREAM.INFO.')) return false;
      asked.push(subject);
      return (
        asked.filter((earlier) => earlier === subject).length < 4 && new RefusedByServer(10059, 'stream not found')
      );
    });
    expect(asked).toHaveLength(4 * STREAM_KINDS.length);
  });

  it('with more than one replica are rejected at once by a single server', async () => {
    await expect(natsStore({ ...newStreams(), replicas: 3 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'replicas',
    });
  });

  it('whose subjects another stream has are rejected with the name of the option', async () => {
    const { url, prefix } = newStreams();
    const stranger = newPrefix();
    await askServer(url, `STREAM.CREATE.${stranger}`, { name: stranger, subjects: [`${prefix}.>`] });
    onTestFinished(() => askServer<void>(url, `STREAM.DELETE.${stranger}`));
    await expect(natsStore({ url, prefix })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'prefix',
      message: expect.stringContaining(`${stranger} has ${prefix}.`),
    });
  });
});
