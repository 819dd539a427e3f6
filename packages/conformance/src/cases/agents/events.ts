/** Runtime events: stored once, ordered by time and then by arrival (AGT-2). */
import type { StoredEvent } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { all } from '../iterate.ts';
import { casesOf, expectField, flowEvent, inOrder, peerAgents } from './samples.ts';

const events = casesOf('agents', 'events');

export const EVENT_CASES = [
  events({
    id: 'agents/events/come-back-whole',
    title: 'An event is returned with every field as it was saved',
    proves: ['000 save_event', 'AGT-2'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      const named = flowEvent(traceId, { eventId: bench.id('event'), ts: 1 });
      const bare = flowEvent(traceId, { nodeName: null, nodeId: null, payload: {}, ts: 2 });
      await agents.saveEvent(named);
      await agents.saveEvent(bare);
      expectEqual(await agents.loadHistory(traceId), [named, bare], 'an event comes back as it was saved');
    },
  }),

  events({
    id: 'agents/events/unknown-trace-is-empty',
    title: 'The history of an unknown trace is empty, not an error',
    proves: ['000 load_history', '000 errors'],
    async run(bench) {
      const unknown = bench.id('unknown');
      expectEqual(await bench.tenant.agents.loadHistory(unknown), [], 'an unknown trace has an empty history');
      expectEqual(
        await bench.tenant.agents.loadHistory(null),
        [],
        'the history of events without a trace is empty if there are none',
      );
      expectEqual(
        await all(bench.tenant.agents.readHistory(unknown)),
        [],
        'iterating over an unknown trace yields nothing',
      );
    },
  }),

  events({
    id: 'agents/events/ordered-by-time-then-arrival',
    title: 'A history is ordered by ts, then by arrival where ts is equal',
    proves: ['000 load_history', '000 ordering', 'AGT-2'],
    async run(bench) {
      const traceId = bench.id('trace');
      const sent: [number, string][] = [
        [30, 'd'],
        [10, 'a'],
        [20, 'b'],
        [20, 'c'],
        [9, 'z'],
        [-1, 'y'],
      ];
      await inOrder(sent, ([ts, kind]) => bench.tenant.agents.saveEvent(flowEvent(traceId, { ts, kind })));
      const kinds = (await bench.tenant.agents.loadHistory(traceId)).map((event) => event.kind).join('');
      expectEqual(kinds, 'yzabcd', 'events are in order of ts, then of insertion');
    },
  }),

  events({
    id: 'agents/events/keep-the-whole-of-ts',
    title: 'Fractions of ts are kept and compared in full',
    proves: ['000 ordering', 'GEN-2'],
    async run(bench) {
      const traceId = bench.id('trace');
      const times = [1_702_857_600.123457, 1_702_857_600.123456, 1e-7, 0];
      await inOrder(times, (ts) => bench.tenant.agents.saveEvent(flowEvent(traceId, { ts })));
      const loaded = (await bench.tenant.agents.loadHistory(traceId)).map((event) => event.ts);
      expectEqual(loaded, [...times].reverse(), 'microseconds of ts are kept and ordered');
    },
  }),

  events({
    id: 'agents/events/same-event-id-is-one-event',
    title: 'Saving an event id twice stores the first event only',
    proves: ['000 save_event', '000 idempotency', 'AGT-2', 'GEN-8'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, other] = [bench.id('trace'), bench.id('trace')];
      const first = flowEvent(traceId, { eventId: 'e1' });
      await agents.saveEvent(first);
      await agents.saveEvent(first);
      await agents.saveEvent({ ...first, kind: 'node_error', ts: first.ts + 1 });
      expectEqual(await agents.loadHistory(traceId), [first], 'the first save of an event id is kept');
      await agents.saveEvent({ ...first, traceId: other });
      expectEqual(
        (await agents.loadHistory(other)).length,
        1,
        'an event id belongs to its trace and does not affect another trace',
      );
    },
  }),

  events({
    id: 'agents/events/same-fields-are-one-event',
    title: 'Without an event id, events with the same fields are the same event, in any key order',
    proves: ['000 save_event', '000 idempotency', 'AGT-2'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      const event = flowEvent(traceId, { payload: { a: 1, b: { c: 2, d: [3] } } });
      await agents.saveEvent(event);
      await agents.saveEvent(event);
      await agents.saveEvent({ ...event, payload: { b: { d: [3], c: 2 }, a: 1 } });
      expectEqual(await agents.loadHistory(traceId), [event], 'an event saved again is stored once');
    },
  }),

  events({
    id: 'agents/events/any-other-field-is-another-event',
    title: 'Events that differ in any field are stored separately',
    proves: ['AGT-2'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      const base = flowEvent(traceId, { nodeName: null, nodeId: null });
      const changes: Partial<StoredEvent>[] = [
        {},
        { ts: base.ts + 0.000_001 },
        { kind: 'node_error' },
        { nodeName: 'null' },
        { nodeId: 'null' },
        { payload: { ...base.payload, attempt: 2 } },
        { payload: { ...base.payload, attempt: '1' } },
        { payload: {} },
      ];
      await inOrder(changes, (change) => agents.saveEvent({ ...base, ...change }));
      expectEqual(
        (await agents.loadHistory(traceId)).length,
        changes.length,
        'an event that differs in one field is stored separately',
      );
    },
  }),

  events({
    id: 'agents/events/no-trace-is-a-history-of-its-own',
    title: 'Events without a trace never appear under a named trace',
    proves: ['000 save_event', 'AGT-2'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traces = [null, 'null', 'None', 'undefined', '__global__', '_', '-', ' ', '0', '\u2205'];
      await inOrder(traces, (traceId) => agents.saveEvent(flowEvent(traceId)));
      for (const traceId of traces) {
        const seen = (await agents.loadHistory(traceId)).map((event) => event.traceId);
        expectEqual(seen, [traceId], `the history of ${JSON.stringify(traceId)} holds its own event and no other`);
      }
      const error = await expectCode('INVALID_ARGUMENT', 'the empty text is not a trace', () => agents.loadHistory(''));
      expectField(error, 'traceId');
    },
  }),

  events({
    id: 'agents/events/kinds-are-open',
    title: 'Any kind of event can be stored',
    proves: ['AGT-2'],
    async run(bench) {
      const traceId = bench.id('trace');
      const kinds = ['node_start', 'remote_stream_event', 'session.task', 'something new', '種類'];
      await inOrder(kinds, (kind) => bench.tenant.agents.saveEvent(flowEvent(traceId, { kind })));
      const seen = (await bench.tenant.agents.loadHistory(traceId)).map((event) => event.kind);
      expectEqual(seen, kinds, 'kinds are an open set');
    },
  }),

  events({
    id: 'agents/events/bulk-keeps-order-and-stores-once',
    title: 'Events saved in bulk keep their order, go to their own traces and are stored once',
    proves: ['AGT-2', '000 idempotency'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [one, two] = [bench.id('trace'), bench.id('trace')];
      const batch = [
        flowEvent(one, { kind: 'a' }),
        flowEvent(two, { kind: 'b' }),
        flowEvent(one, { kind: 'c' }),
        flowEvent(one, { kind: 'a' }),
        flowEvent(null, { kind: 'd' }),
        flowEvent(one, { kind: 'e', ts: 1 }),
      ];
      await agents.saveEvents(batch);
      await agents.saveEvents(batch);
      const kinds = async (traceId: string | null) => (await agents.loadHistory(traceId)).map((event) => event.kind);
      expectEqual(await kinds(one), ['e', 'a', 'c'], 'a batch is stored once, by ts and then in its own order');
      expectEqual(await kinds(two), ['b'], 'each event goes to the trace it names');
      expectEqual(await kinds(null), ['d'], 'events without a trace may be in a batch too');
    },
  }),

  events({
    id: 'agents/events/bulk-is-refused-whole',
    title: 'A batch with an invalid event, or with too many events, writes nothing',
    proves: ['AGT-2', 'GEN-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      const good = flowEvent(traceId);
      await expectCode('INVALID_PAYLOAD', 'one invalid event rejects the whole batch', () =>
        agents.saveEvents([good, flowEvent(traceId, { payload: { n: Number.NaN } })]),
      );
      const many = Array.from({ length: 1_001 }, (_, n) => flowEvent(traceId, { ts: n }));
      const error = await expectCode('INVALID_ARGUMENT', 'a batch holds at most 1 000 events', () =>
        agents.saveEvents(many),
      );
      expectField(error, 'events');
      expectEqual(await agents.loadHistory(traceId), [], 'a rejected batch stores nothing');
    },
  }),

  events({
    id: 'agents/events/long-histories-are-read-whole',
    title: 'A long history is read completely, as a list or by iteration',
    proves: ['000 load_history'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      // Equal times across possible page boundaries of an engine, because a page must continue by position and not by
      // ts alone.
      const sent = Array.from({ length: 2_000 }, (_, n) =>
        flowEvent(traceId, { ts: Math.floor(n / 700), payload: { n } }),
      );
      await agents.saveEvents(sent.slice(0, 1_000));
      await agents.saveEvents(sent.slice(1_000));
      expectEqual(await agents.loadHistory(traceId), sent, 'a long history comes back whole and in order');
      expectEqual(await all(agents.readHistory(traceId)), sent, 'the iterator yields the same events');
    },
  }),

  events({
    id: 'agents/events/concurrent-saves-of-one-event',
    title: 'Concurrent saves of the same event store it once',
    proves: ['000 save_event', 'AGT-2'],
    async run(bench) {
      const traceId = bench.id('trace');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const bare = flowEvent(traceId, { ts: 1 });
      const named = flowEvent(traceId, { ts: 2, eventId: bench.id('event') });
      const saves = Array.from({ length: 20 }, (_, n) => clients[n % 2]!.saveEvent(n % 4 < 2 ? bare : named));
      await Promise.all(saves);
      for (const agents of clients) {
        expectEqual(await agents.loadHistory(traceId), [bare, named], 'each event is stored once, for every client');
      }
    },
  }),

  events({
    id: 'agents/events/reading-changes-nothing',
    title: 'Reading a history twice returns the same events',
    proves: ['000 idempotency', '000 consistency'],
    async run(bench) {
      const traceId = bench.id('trace');
      await inOrder([3, 1, 2], (ts) => bench.tenant.agents.saveEvent(flowEvent(traceId, { ts })));
      const first = await bench.tenant.agents.loadHistory(traceId);
      expectEqual(await bench.tenant.agents.loadHistory(traceId), first, 'reading changes nothing');
      expect(first.length === 3, 'acknowledged events are read');
    },
  }),
];
