/** Trajectories: a trace belongs to one session, the most recently saved is listed first (AGT-9). */
import { expectCode, expectEqual } from '../../expect.ts';
import { casesOf, expectField, inOrder, peerAgents, trajectory } from './samples.ts';

const trajectories = casesOf('agents', 'trajectories');

export const TRAJECTORY_CASES = [
  trajectories({
    id: 'agents/trajectories/come-back-whole',
    title: 'A trajectory comes back as it was saved',
    proves: ['000 save_trajectory', '000 get_trajectory', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, sessionId] = [bench.id('trace'), bench.id('session')];
      await agents.saveTrajectory(traceId, sessionId, trajectory());
      expectEqual(await agents.getTrajectory(traceId, sessionId), trajectory(), 'it comes back as saved');
      expectEqual(await agents.getTrajectory(traceId, sessionId), trajectory(), 'however often');
      expectEqual(await (await peerAgents(bench)).getTrajectory(traceId, sessionId), trajectory(), 'and to whom');
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
        'an unknown trace has none',
      );
      expectEqual(await bench.tenant.agents.listTraces(sessionId), [], 'an unknown session has no traces');
    },
  }),

  trajectories({
    id: 'agents/trajectories/another-session-sees-nothing',
    title: 'Another session gets null for a trace that is not its own',
    proves: ['000 get_trajectory', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [traceId, mine, other] = [bench.id('trace'), bench.id('session'), bench.id('session')];
      await agents.saveTrajectory(traceId, mine, trajectory());
      expectEqual(await agents.getTrajectory(traceId, other), null, 'a trace is of its session only');
      expectEqual(await agents.listTraces(other), [], 'and listed there only');
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
      expectEqual(await agents.getTrajectory(traceId, sessionId), trajectory('second'), 'the last save stands');
      expectEqual(await agents.listTraces(sessionId), [traceId], 'and the trace is listed once');
    },
  }),

  trajectories({
    id: 'agents/trajectories/most-recent-first',
    title: 'Traces are listed most recent first, and saving again makes most recent',
    proves: ['000 list_traces', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const save = (name: string) => agents.saveTrajectory(name, sessionId, trajectory(name));
      await inOrder(['b', 'c', 'a'], save);
      expectEqual(
        await agents.listTraces(sessionId),
        ['a', 'c', 'b'],
        'the last saved is first, also within a millisecond',
      );
      await bench.pass(2);
      await save('c');
      expectEqual(await agents.listTraces(sessionId), ['c', 'a', 'b'], 'saving again moves a trace to the front');
      await save('c');
      expectEqual(await agents.listTraces(sessionId), ['c', 'a', 'b'], 'where it stays');
    },
  }),

  trajectories({
    id: 'agents/trajectories/another-session-cannot-take-a-trace',
    title: 'Saving a trace of another session is refused and changes nothing',
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
      expectEqual(await agents.getTrajectory(traceId, other), null, 'the other session has none');
      expectEqual(
        [await agents.listTraces(mine), await agents.listTraces(other)],
        [before, []],
        'and no list has changed',
      );
    },
  }),

  trajectories({
    id: 'agents/trajectories/one-session-takes-a-trace',
    title: 'Of sessions that save a trace at once, one gets it',
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
      expectEqual(owners.flat(), [traceId], 'and one session lists the trace');
    },
  }),

  trajectories({
    id: 'agents/trajectories/limited',
    title: 'A list of traces holds at most its limit, 50 unless told otherwise',
    proves: ['000 list_traces', 'AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const saved = Array.from({ length: 53 }, (_, n) => `trace-${n}`);
      await inOrder(saved, (traceId) => agents.saveTrajectory(traceId, sessionId, trajectory(traceId)));
      const recent = [...saved].reverse();
      expectEqual(await agents.listTraces(sessionId), recent.slice(0, 50), 'by default the 50 most recent');
      expectEqual(await agents.listTraces(sessionId, 1), recent.slice(0, 1), 'with a limit of 1 the most recent');
      expectEqual(await agents.listTraces(sessionId, 10_000), recent, 'with a high one all of them');
      for (const limit of [0, -1, 10_001, 1.5, Number.NaN, '5' as unknown as number]) {
        const error = await expectCode('INVALID_ARGUMENT', `limit ${limit} is refused`, () =>
          agents.listTraces(sessionId, limit),
        );
        expectField(error, 'limit');
      }
    },
  }),
];
