/** Planner events: append-only, stored once, in order of emission (AGT-10). */
import type { PlannerEvent } from '@tidemark/core';
import { expectEqual } from '../../expect.ts';
import { all, upTo } from '../iterate.ts';
import { casesOf, inOrder, peerAgents, plannerEvent } from './samples.ts';

const planner = casesOf('agents', 'plannerEvents');

export const PLANNER_EVENT_CASES = [
  planner({
    id: 'agents/planner-events/come-back-whole',
    title: 'A planner event is returned with every field as it was saved',
    proves: ['000 save_planner_event', '000 list_planner_events', 'AGT-10'],
    async run(bench) {
      const traceId = bench.id('trace');
      const sent = [plannerEvent(), plannerEvent({ eventId: bench.id('event'), error: 'timeout', extra: {} })];
      await inOrder(sent, (event) => bench.tenant.agents.savePlannerEvent(traceId, event));
      expectEqual(await bench.tenant.agents.listPlannerEvents(traceId), sent, 'events come back as saved');
    },
  }),

  planner({
    id: 'agents/planner-events/unknown-trace-is-empty',
    title: 'An unknown trace has no planner events and is not an error',
    proves: ['000 list_planner_events', '000 errors'],
    async run(bench) {
      const traceId = bench.id('unknown');
      expectEqual(await bench.tenant.agents.listPlannerEvents(traceId), [], 'an unknown trace is empty');
      expectEqual(
        await all(bench.tenant.agents.readPlannerEvents(traceId)),
        [],
        'iterating over an unknown trace yields nothing',
      );
    },
  }),

  planner({
    id: 'agents/planner-events/order-of-emission',
    title: 'Planner events keep the order of their emission and are not sorted by ts',
    proves: ['000 list_planner_events', '000 ordering', 'AGT-10'],
    async run(bench) {
      const traceId = bench.id('trace');
      const sent = [30, 10, 20, 20.5, -1].map((ts, n) => plannerEvent({ ts, trajectoryStep: 5 - n }));
      await inOrder(sent, (event) => bench.tenant.agents.savePlannerEvent(traceId, event));
      expectEqual(await bench.tenant.agents.listPlannerEvents(traceId), sent, 'order is that of emission');
      expectEqual(
        await all(bench.tenant.agents.readPlannerEvents(traceId)),
        sent,
        'the iterator yields the same order',
      );
    },
  }),

  planner({
    id: 'agents/planner-events/same-event-id-is-one-event',
    title: 'Saving an event id twice stores the first event only',
    proves: ['000 save_planner_event', '000 idempotency', 'AGT-10', 'GEN-8'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, other] = [bench.id('trace'), bench.id('trace')];
      const first = plannerEvent({ eventId: 'e1' });
      await agents.savePlannerEvent(traceId, first);
      await agents.savePlannerEvent(traceId, first);
      await agents.savePlannerEvent(traceId, { ...first, thought: 'another' });
      expectEqual(await agents.listPlannerEvents(traceId), [first], 'the first save of an event id is kept');
      await agents.savePlannerEvent(other, first);
      expectEqual(await agents.listPlannerEvents(other), [first], 'an event id belongs to its trace');
    },
  }),

  planner({
    id: 'agents/planner-events/same-fields-are-one-event',
    title: 'Without an event id, events with the same fields are the same event',
    proves: ['000 save_planner_event', '000 idempotency', 'AGT-10'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      const event = plannerEvent({ extra: { a: 1, b: { c: [2] } } });
      await agents.savePlannerEvent(traceId, event);
      await agents.savePlannerEvent(traceId, { ...event, extra: { b: { c: [2] }, a: 1 } });
      expectEqual(await agents.listPlannerEvents(traceId), [event], 'an event saved again is stored once');
    },
  }),

  planner({
    id: 'agents/planner-events/any-other-field-is-another-event',
    title: 'Planner events that differ in any field, ts included, are stored separately',
    proves: ['AGT-10'],
    async run(bench) {
      const { agents } = bench.tenant;
      const traceId = bench.id('trace');
      const base = plannerEvent();
      const changes: Partial<PlannerEvent>[] = [
        {},
        { ts: base.ts + 0.000_001 },
        { eventType: 'step_start' },
        { trajectoryStep: 2 },
        { thought: null },
        { thought: 'null' },
        { nodeName: 'other' },
        { latencyMs: 13 },
        { tokenEstimate: 841 },
        { error: 'late' },
        { extra: {} },
      ];
      const sent = changes.map((change) => ({ ...base, ...change }));
      await inOrder(sent, (event) => agents.savePlannerEvent(traceId, event));
      expectEqual(await agents.listPlannerEvents(traceId), sent, 'one differing field makes another event');
    },
  }),

  planner({
    id: 'agents/planner-events/traces-are-apart',
    title: 'A trace lists its own planner events only',
    proves: ['AGT-10'],
    async run(bench) {
      const [one, two] = [bench.id('trace'), bench.id('trace')];
      await bench.tenant.agents.savePlannerEvent(one, plannerEvent());
      await bench.tenant.agents.savePlannerEvent(two, plannerEvent({ ts: 7 }));
      expectEqual(await bench.tenant.agents.listPlannerEvents(one), [plannerEvent()], 'events belong to their trace');
    },
  }),

  planner({
    id: 'agents/planner-events/concurrent-emitters',
    title: 'Concurrent emitters lose nothing and keep their own order',
    proves: ['000 ordering', 'AGT-10'],
    async run(bench) {
      const traceId = bench.id('trace');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const emit = (nodeName: string, n: number) =>
        inOrder(upTo(40), (trajectoryStep) =>
          clients[n % 2]!.savePlannerEvent(traceId, plannerEvent({ nodeName, trajectoryStep })),
        );
      await Promise.all(['a', 'b', 'c', 'd'].map(emit));
      const listed = await clients[1]!.listPlannerEvents(traceId);
      for (const nodeName of ['a', 'b', 'c', 'd']) {
        const steps = listed.filter((event) => event.nodeName === nodeName).map((event) => event.trajectoryStep);
        expectEqual(steps, upTo(40), 'events of one emitter stay in order');
      }
      expectEqual(await all(clients[0]!.readPlannerEvents(traceId)), listed, 'every reader sees the same order');
    },
  }),

  planner({
    id: 'agents/planner-events/concurrent-saves-of-one-event',
    title: 'Concurrent saves of the same planner event store it once',
    proves: ['000 save_planner_event', 'AGT-10'],
    async run(bench) {
      const traceId = bench.id('trace');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      await Promise.all(upTo(20).map((n) => clients[n % 2]!.savePlannerEvent(traceId, plannerEvent())));
      expectEqual(await bench.tenant.agents.listPlannerEvents(traceId), [plannerEvent()], 'the event is stored once');
    },
  }),
];
