/** Replaces one value of each layer in its stream by a changed one with the old checksum (KV-12, RUN-14). */
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { checkLayer, fillLayers, LAYERS, type Layer } from '../../../faults/damage-layers.ts';
import { HEADER, headersFor, parseHeaders } from '../src/messages/headers.ts';
import { parseServers } from '../src/options.ts';
import { streamName } from '../src/streams/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore } from './stores.ts';

const CHANGES: Record<Layer, { kind: 'records' | 'bytes'; from: string; to: string }> = {
  snapshot: { kind: 'records', from: '"lastEventSeq":3', to: '"lastEventSeq":2' },
  kv: { kind: 'records', from: 'kv sick', to: 'kv sicK' },
  memory: { kind: 'records', from: 'memory sick', to: 'memory sicK' },
  artifact: { kind: 'bytes', from: 'sick artifact', to: 'sicK artifact' },
};

interface Found {
  message?: { subject: string; hdrs?: string; data?: string };
}

/** Publishes the last matching message of the default tenant again with another body. */
async function change(url: string, prefix: string, layer: Layer): Promise<boolean> {
  const { kind, from, to } = CHANGES[layer];
  const stream = streamName(prefix, kind);
  const { state } = await askServer<{ state: { last_seq: number } }>(url, `STREAM.INFO.${stream}`);
  for (let seq = state.last_seq; seq > 0; seq--) {
    const { message } = await askServer<Found>(url, `STREAM.MSG.GET.${stream}`, { seq });
    const body = Buffer.from(message?.data ?? '', 'base64').toString('latin1');
    const isIt = layer === 'artifact' || message?.subject.endsWith('.default.sick');
    if (!message || !isIt || !body.includes(from)) continue;
    const { [HEADER.expected]: _, [HEADER.once]: __, ...headers } = parseHeaders(atob(message.hdrs!));
    const { servers, login } = parseServers(url);
    const connection = await connect({ servers, ...login });
    const changed = Buffer.from(body.replace(from, to), 'latin1');
    await connection.request(message.subject, changed, { timeout: 5_000, headers: headersFor(headers) });
    await connection.close();
    return true;
  }
  return false;
}

it.skipIf(WITHOUT_NATS).each(LAYERS)('damage of one %s affects nothing else', async (layer) => {
  const { url, prefix } = newStreams();
  await fillLayers(await openStore({ url, prefix }));
  expect(await change(url, prefix, layer)).toBe(true);
  expect(await checkLayer(await openStore({ url, prefix }), layer)).toEqual([]);
});
