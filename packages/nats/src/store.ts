/** The NATS store: all domains on five streams of one JetStream account. */
import { invalidArgument, type Store } from '@tidemark/core';
import {
  artifactSweep,
  assembleStore,
  type Blobs,
  ChainMarker,
  Cleaner,
  type EngineCall,
  expirySweep,
  type Journal,
  KeyedRuns,
  keyedAgents,
  keyedArtifacts,
  keyedTenancy,
  type Records,
  Signals,
  StoreContext,
  withUrlOptions,
} from '@tidemark/core/engine';
import { NatsBlobs } from './blobs.ts';
import { Link } from './connection/link.ts';
import { translating } from './connection/translating.ts';
import { examine, requireDurability } from './doctor.ts';
import { translate } from './errors.ts';
import { Checkpoints } from './journal/checkpoints.ts';
import { Heads } from './journal/heads.ts';
import { JournalReader } from './journal/journal-reader.ts';
import { type JournalPart, NatsJournal } from './journal.ts';
import { Messages } from './messages/messages.ts';
import { Spill } from './messages/spill.ts';
import { Writer } from './messages/writer.ts';
import { checkPrefix, checkReplicas, type NatsOptions, URL_OPTIONS } from './options.ts';
import { KeptRequests } from './records/kept-requests.ts';
import { NatsRecords } from './records.ts';
import { raiseMarker, readMarker } from './streams/store-format.ts';
import { type LostEnd, StreamEnds, type StreamPart } from './streams/stream-ends.ts';
import { prepareStreams, type StreamKind, streamName, streamSubject } from './streams/streams.ts';

/**
 * Opens a store on NATS with JetStream, server 2.9 or newer. Creates its streams if they do not exist.
 *
 * @throws `INVALID_ARGUMENT` for an option it cannot use, `UNAVAILABLE` when no server can be reached,
 * `DURABILITY_TOO_WEAK` for unsafe streams, or under `durability: 'require'`.
 * @example
 * ```ts
 * const store = await natsStore('nats://localhost:4222');
 * await store.runs.handle('order-42').append('RunStarted');
 * await store.close();
 * ```
 */
export async function natsStore(options: string | NatsOptions): Promise<Store> {
  const given = withUrlOptions(typeof options === 'string' ? { url: options } : options, URL_OPTIONS, []);
  if (typeof given.url !== 'string') throw invalidArgument('url', 'a URL such as nats://localhost:4222', given.url);
  const prefix = checkPrefix(given.prefix);
  const replicas = checkReplicas(given.replicas);
  const context = new StoreContext(given);
  const link = await Link.open(given, context.timeoutMs);
  try {
    await link.requireJetStream({ deadline: Date.now() + context.timeoutMs });
    const call = { deadline: Date.now() + OPEN_WITHIN_MS };
    await prepareStreams(link, prefix, replicas, call);
    if (given.upgrade) await raiseMarker(link, prefix, call);
    const read = () => readMarker(link, prefix, { deadline: Date.now() + context.timeoutMs });
    return await assemble(context, link, prefix, given, new ChainMarker(await read(), read));
  } catch (error) {
    await link.close();
    throw translate(error);
  }
}

/**
 * Opens a store by URL, for `open('nats://…')`.
 *
 * @example
 * import { openUrl } from '@tidemark/nats';
 *
 * const store = await openUrl('nats://localhost:4222', {});
 */
export function openUrl(url: string, options: Omit<NatsOptions, 'url'>): Promise<Store> {
  return natsStore({ ...options, url });
}

/** Allows a cluster to elect a leader for every new stream. */
const OPEN_WITHIN_MS = 30_000;

async function assemble(
  context: StoreContext,
  link: Link,
  prefix: string,
  options: NatsOptions,
  marker: ChainMarker,
): Promise<Store> {
  const look = (lostEnds: (call: EngineCall) => Promise<LostEnd[]>, call: EngineCall) =>
    examine(link, prefix, options.monitoring ?? [], lostEnds, call);
  const first = await look(async () => [], { deadline: Date.now() + OPEN_WITHIN_MS });
  if (options.durability === 'require') requireDurability(first);
  let { durability } = first;
  const { clock, random } = context;
  const part = (kind: StreamKind): StreamPart => {
    const messages = new Messages(link, streamName(prefix, kind), streamSubject(prefix, kind));
    return { messages, writer: new Writer(link, messages, random) };
  };
  const bytes = part('bytes');
  const spill = new Spill(bytes.messages, bytes.writer, random);
  const checkpoints = new Checkpoints(bytes.messages, bytes.writer);
  const signals = new Signals();
  const journalPart = ({ messages, writer }: StreamPart): JournalPart => {
    const reader = new JournalReader(link, messages, spill, checkpoints);
    const heads = new Heads(
      link,
      messages,
      (name) => journal.announce(name),
      (name, call) => reader.head(name, call),
    );
    return { reader, writer, heads };
  };
  const [ofRuns, ofOthers] = [part('runs'), part('journals')];
  const [runs, others] = [journalPart(ofRuns), journalPart(ofOthers)];
  const journal: NatsJournal = new NatsJournal(runs, others, signals, context);
  const requests = part('requests');
  const ofRecords = part('records');
  const records = new NatsRecords({
    link,
    ...ofRecords,
    spill,
    clock,
    kept: new KeptRequests({ ...requests, clock }),
    requests: new NatsRecords({ link, ...requests, spill, clock }),
  });
  const ends = new StreamEnds(records, { runs: ofRuns, journals: ofOthers, bytes, records: ofRecords });
  // A store that has lost messages opens like any other; `doctor` reports the loss.
  await ends.check({ deadline: Date.now() + context.timeoutMs }).catch(() => {});
  const blobs = new NatsBlobs({ ...bytes, records, clock, random });
  const ports = {
    journal: translating<Journal>(journal),
    records: translating<Records>(records),
    blobs: translating<Blobs>(blobs),
  };
  const artifacts = keyedArtifacts(context, ports.records, ports.blobs, { stepwise: true });
  const keyedRuns = new KeyedRuns(ports.journal, ports.records, marker.current);
  const cleaner = new Cleaner([
    (call, limit) => records.removeExpired(limit, call),
    (call, limit) => records.removeMarkers(limit, call),
    artifactSweep(artifacts, clock),
    expirySweep(keyedRuns, context.expiry),
    async (call) => {
      await ends.keep(call);
      return 0;
    },
  ]);
  return assembleStore(context, {
    backend: 'nats',
    version: link.version,
    clock: 'process',
    can: {
      'runs.denseSequences': true,
      'runs.feed': true,
      'runs.redaction': true,
      'runs.notices': true,
      'kv.watch': true,
      reopen: true,
    },
    durability: () => durability,
    chainFormat: marker.current,
    runs: keyedRuns,
    kv: ports.records,
    agents: keyedAgents(ports.journal, ports.records, context),
    artifacts,
    tenancy: keyedTenancy(ports.journal, ports.records, ports.blobs, artifacts, keyedRuns),
    ping: (call: EngineCall) => link.ping(call),
    doctor: async (call) => {
      const examination = await look((within) => ends.lost(within), call);
      durability = examination.durability;
      return examination;
    },
    close: async () => {
      await cleaner.stop();
      // Only the doctor needs the recorded ends, so an unreachable server must not delay closing.
      if (link.isConnected) await ends.keep({ deadline: Date.now() + context.timeoutMs }).catch(() => {});
      runs.heads.stop();
      others.heads.stop();
      records.stop();
      await link.close();
    },
  });
}
