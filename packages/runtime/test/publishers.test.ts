/** Signals on real servers: Redis stream entries and NATS messages. */
import { connect } from '@nats-io/transport-node';
import { createClient } from '@redis/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neededServers, offeredUrl } from '../../../scripts/servers/index.ts';
import { type JobSignal, natsPublisher, redisStreamsPublisher, subjectOf } from '../src/index.ts';

const needed = neededServers();

function signalFor(taskType: string): JobSignal {
  const taskId = 'jöb "1"';
  const key = `gbe.state.tasks.${taskType}.${taskId}`;
  return { kind: 'queue', taskType, taskId, key, state: 'pending', revision: 3, retryCount: 1 };
}

describe.skipIf(!needed.includes('redis'))('redisStreamsPublisher', () => {
  it('appends to the stream of the subject and trims it', async () => {
    const client = createClient({ url: offeredUrl('redis') });
    await client.connect();
    onTestFinished(() => client.close());
    const type = `t-${crypto.randomUUID()}`;
    const stream = `gbe:tasks:${type}:queue`;
    onTestFinished(async () => void (await client.sendCommand(['DEL', stream])));
    const publish = redisStreamsPublisher(client, { maxLength: 200 });
    const signal = signalFor(type);
    await publish(subjectOf(type, 'queue'), signal);
    const [[, fields]] = (await client.sendCommand(['XRANGE', stream, '-', '+'])) as [[string, string[]]];
    expect(fields[0]).toBe('signal');
    expect(JSON.parse(fields[1]!)).toEqual(signal);
    await Promise.all(Array.from({ length: 1_000 }, () => publish(subjectOf(type, 'queue'), signal)));
    const length = Number(await client.sendCommand(['XLEN', stream]));
    expect(length).toBeGreaterThanOrEqual(200);
    expect(length).toBeLessThan(500);
  });

  it('rejects when the server fails', async () => {
    const client = createClient({ url: offeredUrl('redis') });
    await client.connect();
    const publish = redisStreamsPublisher(client);
    await client.close();
    await expect(publish(subjectOf('t', 'queue'), signalFor('t'))).rejects.toThrow();
  });
});

describe.skipIf(!needed.includes('nats'))('natsPublisher', () => {
  it('publishes on the subject and resolves once the server has the message', async () => {
    const connection = await connect({ servers: offeredUrl('nats')?.replace('nats://', '') });
    const listener = await connect({ servers: offeredUrl('nats')?.replace('nats://', '') });
    onTestFinished(() => connection.close());
    onTestFinished(() => listener.close());
    const type = `t-${crypto.randomUUID()}`;
    const messages = listener.subscribe('gbe.tasks.*.queue', { max: 1 });
    await listener.flush();
    const signal = signalFor(type);
    await natsPublisher(connection)(subjectOf(type, 'queue'), signal);
    for await (const message of messages) {
      expect(message.subject).toBe(`gbe.tasks.${type}.queue`);
      expect(message.json()).toEqual(signal);
    }
    expect(messages.getProcessed()).toBe(1);
  });

  it('rejects when the connection is closed', async () => {
    const connection = await connect({ servers: offeredUrl('nats')?.replace('nats://', '') });
    const publish = natsPublisher(connection);
    await connection.close();
    await expect(publish(subjectOf('t', 'queue'), signalFor('t'))).rejects.toThrow();
  });
});
