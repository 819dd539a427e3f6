/** Trajectories: a trace belongs to one session, the most recently saved is listed first (AGT-9). */
import { expectCode, expectEqual } from '../../expect.ts';
import { casesOf, expectField, inOrder, peerAgents, trajectory } from './samples.ts';

const trajectories = casesOf('agents', 'trajectories');

export const TRAJECTORY_CASES = [
  trajectories({
    id: 'agents/trajectories/come-back-whole',
    title: 'A trajectory is returned as it was saved',
    proves: ['000 save_trajectory', '000 get_trajectory', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, sessionId] = [bench.id('trace'), bench.id('session')];
      await agents.saveTrajectory(traceId, sessionId, trajectory());
      expectEqual(await agents.getTrajectory(traceId, sessionId), trajectory(), 'the trajectory is returned as saved');
      expectEqual(
        await agents.getTrajectory(traceId, sessionId),
        trajectory(),
        'every read returns the same trajectory',
      );
      expectEqual(
        await (await peerAgents(bench)).getTrajectory(traceId, sessionId),
        trajectory(),
        'another client reads the same trajectory',
      );
    },
  }),

  trajectories({
    id: 'agents/trajectories/unknown-is-null',
    title: 'An unknown trajectory is null, an unknown session has no traces',
    proves: ['000 get_trajectory', '000 list_traces', '000 errors'],
    async run(bench) {
      const sessionId = bench.id('unknown');
      expectEqual(
        await bench.tenant.agents.getTrajectory(bench.id('unknown'), sessionId),
        null,
        'an unknown trace has no trajectory',
      );
      expectEqual(await bench.tenant.agents.listTraces(sessionId), [], 'an unknown session has no traces');
    },
  }),

  trajectories({
    id: 'agents/trajectories/another-session-sees-nothing',
    title: 'Another session reads null for a trace that it does not own',
    proves: ['000 get_trajectory', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, mine, other] = [bench.id('trace'), bench.id('session'), bench.id('session')];
      await agents.saveTrajectory(traceId, mine, trajectory());
      expectEqual(await agents.getTrajectory(traceId, other), null, 'a trace belongs to its session only');
      expectEqual(await agents.listTraces(other), [], 'the trace is listed in its session only');
    },
  }),

  trajectories({
    id: 'agents/trajectories/saving-again-replaces',
    title: 'Saving a trace again replaces its trajectory',
    proves: ['000 save_trajectory', '000 idempotency', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, sessionId] = [bench.id('trace'), bench.id('session')];
      for (const label of ['first', 'first', 'second'])
        await agents.saveTrajectory(traceId, sessionId, trajectory(label));
      expectEqual(await agents.getTrajectory(traceId, sessionId), trajectory('second'), 'the last save wins');
      expectEqual(await agents.listTraces(sessionId), [traceId], 'the trace is listed once');
    },
  }),

  trajectories({
    id: 'agents/trajectories/most-recent-first',
    title: 'Traces are listed most recent first, and saving a trace again moves it to the front',
    proves: ['000 list_traces', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const save = (name: string) => agents.saveTrajectory(name, sessionId, trajectory(name));
      await inOrder(['b', 'c', 'a'], save);
      expectEqual(
        await agents.listTraces(sessionId),
        ['a', 'c', 'b'],
        'the last saved trace is first, also within a millisecond',
      );
      await bench.pass(2);
      await save('c');
      expectEqual(await agents.listTraces(sessionId), ['c', 'a', 'b'], 'saving again moves a trace to the front');
      await save('c');
      expectEqual(await agents.listTraces(sessionId), ['c', 'a', 'b'], 'the trace stays at the front');
    },
  }),

  trajectories({
    id: 'agents/trajectories/another-session-cannot-take-a-trace',
    title: 'Saving a trace of another session is rejected and changes nothing',
    proves: ['AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, mine, other] = [bench.id('trace'), bench.id('session'), bench.id('session')];
      await inOrder([traceId, bench.id('newer')], (id) => agents.saveTrajectory(id, mine, trajectory('mine')));
      const before = await agents.listTraces(mine);
      await expectCode('SESSION_MISMATCH', 'a trace belongs to one session', () =>
        agents.saveTrajectory(traceId, other, trajectory('theirs')),
      );
      expectEqual(await agents.getTrajectory(traceId, mine), trajectory('mine'), 'its trajectory is unchanged');
      expectEqual(await agents.getTrajectory(traceId, other), null, 'the other session does not have the trace');
      expectEqual([await agents.listTraces(mine), await agents.listTraces(other)], [before, []], 'no list has changed');
    },
  }),

  trajectories({
    id: 'agents/trajectories/one-session-takes-a-trace',
    title: 'Of sessions that save one trace concurrently, one gets it',
    proves: ['AGT-9'],
    async run(bench) {
      const traceId = bench.id('trace');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const sessions = Array.from({ length: 10 }, () => bench.id('session'));
      const saves = sessions.map((sessionId, n) =>
        clients[n % 2]!.saveTrajectory(traceId, sessionId, trajectory(sessionId)),
      );
      const settled = await Promise.allSettled(saves);
      expectEqual(settled.filter((save) => save.status === 'fulfilled').length, 1, 'one save succeeds');
      const owners = await Promise.all(sessions.map((sessionId) => clients[0]!.listTraces(sessionId)));
      expectEqual(owners.flat(), [traceId], 'one session lists the trace');
    },
  }),

  trajectories({
    id: 'agents/trajectories/limited',
    title: 'A list of traces has at most limit items, 50 by default',
    proves: ['000 list_traces', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const saved = Array.from({ length: 53 }, (_, n) => `trace-${n}`);
      await inOrder(saved, (traceId) => agents.saveTrajectory(traceId, sessionId, trajectory(traceId)));
      const recent = [...saved].reverse();
      expectEqual(
        await agents.listTraces(sessionId),
        recent.slice(0, 50),
        'by default the 50 most recent traces are listed',
      );
      expectEqual(await agents.listTraces(sessionId, 1), recent.slice(0, 1), 'with a limit of 1 the most recent');
      expectEqual(await agents.listTraces(sessionId, 10_000), recent, 'a high limit returns all traces');
      for (const limit of [0, -1, 10_001, 1.5, Number.NaN, '5' as unknown as number]) {
        const error = await expectCode('INVALID_ARGUMENT', `limit ${limit} is refused`, () =>
          agents.listTraces(sessionId, limit),
        );
        expectField(error, 'limit');
      }
    },
  }),
];
