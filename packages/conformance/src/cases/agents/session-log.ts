/** Updates and steering are the same kind of list with different items (AGT-7), so these cases run on both. */
import type { AgentStore, Capability, SessionListOptions, SessionPage } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { casesOf, expectField, inOrder, peerAgents } from './samples.ts';

/** One of the two lists, addressed by ids. */
export interface SessionLog {
  capability: Capability & ('updates' | 'steering');
  save(agents: AgentStore, sessionId: string, id: string, taskId?: string): Promise<void>;
  list(agents: AgentStore, sessionId: string, options?: SessionListOptions): Promise<string[]>;
  page(agents: AgentStore, sessionId: string, options?: SessionListOptions): Promise<SessionPage<string>>;
}

const TASKS: Record<string, string> = { a: 'task-a', b: 'task-b' };

/** Saves ids in order. Ids that start with `a` belong to task-a, ids that start with `b` to task-b. */
async function filled(bench: Bench, log: SessionLog, ids: string): Promise<string> {
  const sessionId = bench.id('session');
  await inOrder(ids.split(' '), (id) => log.save(bench.tenant.agents, sessionId, id, TASKS[id[0]!]));
  return sessionId;
}

export function sessionLogCases(log: SessionLog): ConformanceCase[] {
  const { capability: name, save, list, page } = log;
  const cases = casesOf('agents', name);
  const [saving, listing] = [`000 save_${name === 'updates' ? 'update' : 'steering'}`, `000 list_${name}`];

  return [
    cases({
      id: `agents/${name}/order-of-arrival`,
      title: `A session's ${name} are listed in order of arrival`,
      proves: [listing, '000 ordering', 'AGT-7'],
      async run(bench) {
        const sessionId = await filled(bench, log, 'z a m b y 9 10');
        expectEqual(
          await list(bench.tenant.agents, sessionId),
          ['z', 'a', 'm', 'b', 'y', '9', '10'],
          'order is that of arrival',
        );
      },
    }),

    cases({
      id: `agents/${name}/unknown-session-is-empty`,
      title: `An unknown session has no ${name} and is not an error`,
      proves: [listing, '000 errors'],
      async run(bench) {
        const { agents } = bench.tenant;
        const unknown = bench.id('unknown');
        expectEqual(await list(agents, unknown), [], 'an unknown session is empty');
        expectEqual(
          await list(agents, unknown, { sinceId: 'x', taskId: 'y' }),
          [],
          'an unknown session is also empty with a cursor and a task',
        );
      },
    }),

    cases({
      id: `agents/${name}/cursor-is-exclusive`,
      title: 'A cursor is exclusive: the page starts with the item after it',
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const { agents } = bench.tenant;
        const sessionId = await filled(bench, log, 'u1 u2 u3');
        expectEqual(
          await list(agents, sessionId, { sinceId: 'u1' }),
          ['u2', 'u3'],
          'the item of the cursor is not repeated',
        );
        expectEqual(await list(agents, sessionId, { sinceId: 'u3' }), [], 'there is nothing after the last item');
        expectEqual(
          (await page(agents, sessionId, { sinceId: 'u3' })).cursorFound,
          true,
          'the cursor of the last item is known',
        );
      },
    }),

    cases({
      id: `agents/${name}/unknown-cursor-starts-over`,
      title: 'An unknown cursor starts from the beginning, and the page reports it',
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const { agents } = bench.tenant;
        const sessionId = await filled(bench, log, 'u1 u2');
        const other = await filled(bench, log, 'elsewhere');
        for (const sinceId of ['never', 'elsewhere', 'u', 'U1']) {
          expectEqual(
            await list(agents, sessionId, { sinceId }),
            ['u1', 'u2'],
            `the unknown cursor ${sinceId} is ignored`,
          );
          expectEqual(
            (await page(agents, sessionId, { sinceId })).cursorFound,
            false,
            'the page reports that the cursor was not found',
          );
        }
        expectEqual(
          (await page(agents, sessionId)).cursorFound,
          true,
          'without a cursor, no cursor is reported as missing',
        );
        expectEqual(
          (await page(agents, other, { sinceId: 'elsewhere' })).cursorFound,
          true,
          'the cursor is found in its own session',
        );
      },
    }),

    cases({
      id: `agents/${name}/oldest-first-and-limit-cuts-the-end`,
      title: 'The oldest items come first, and the limit cuts off the newest',
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const { agents } = bench.tenant;
        const sessionId = await filled(bench, log, 'u1 u2 u3 u4 u5');
        expectEqual(
          await list(agents, sessionId, { limit: 2 }),
          ['u1', 'u2'],
          'without a cursor the oldest items are returned',
        );
        expectEqual(
          await list(agents, sessionId, { sinceId: 'u2', limit: 2 }),
          ['u3', 'u4'],
          'after a cursor the next items are returned',
        );
        expectEqual(
          await list(agents, sessionId, { sinceId: 'u4', limit: 2 }),
          ['u5'],
          'the next page has the remaining items',
        );
      },
    }),

    cases({
      id: `agents/${name}/paging-skips-nothing`,
      title: 'Following all pages returns each item once',
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const ids = Array.from({ length: 23 }, (_, n) => `${n % 3 === 0 ? 'a' : 'b'}${n}`);
        const sessionId = await filled(bench, log, ids.join(' '));
        for (const taskId of [undefined, 'task-a', 'task-b']) {
          const wanted = ids.filter((id) => taskId === undefined || TASKS[id[0]!] === taskId);
          const seen: string[] = [];
          let sinceId: string | undefined;
          do {
            const { items, next, cursorFound } = await page(bench.tenant.agents, sessionId, {
              taskId,
              sinceId,
              limit: 4,
            });
            expect(cursorFound && items.length <= 4, 'a page knows its cursor and keeps its limit');
            seen.push(...items);
            sinceId = next;
          } while (sinceId !== undefined && seen.length <= ids.length);
          expectEqual(seen, wanted, `pages of ${taskId ?? 'all tasks'} skip and repeat nothing`);
        }
      },
    }),

    cases({
      id: `agents/${name}/last-page-has-no-next`,
      title: 'The last page has no next, even when it is full',
      proves: ['AGT-7'],
      async run(bench) {
        const sessionId = await filled(bench, log, 'a1 b1 a2 b2');
        const last = await page(bench.tenant.agents, sessionId, { sinceId: 'b1', limit: 2 });
        expectEqual([last.items, last.next], [['a2', 'b2'], undefined], 'nothing comes after the last item');
        const ofTask = await page(bench.tenant.agents, sessionId, { taskId: 'task-a', limit: 2 });
        expectEqual(
          [ofTask.items, ofTask.next],
          [['a1', 'a2'], undefined],
          'nothing comes after the last item of a task',
        );
      },
    }),

    cases({
      id: `agents/${name}/task-filter-comes-before-limit`,
      title: 'The task filter is applied before the limit',
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const sessionId = await filled(bench, log, 'b1 b2 b3 a1 b4 a2 b5 a3');
        const listed = await list(bench.tenant.agents, sessionId, { taskId: 'task-a', limit: 2 });
        expectEqual(listed, ['a1', 'a2'], 'items of other tasks do not count towards the limit');
        expectEqual(
          await list(bench.tenant.agents, sessionId, { taskId: 'none' }),
          [],
          'a task without items has none',
        );
      },
    }),

    cases({
      id: `agents/${name}/cursor-is-of-the-session`,
      title: 'A cursor is resolved within the session before the task filter applies',
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const sessionId = await filled(bench, log, 'a1 b1 a2 b2 a3');
        const options = { taskId: 'task-a', sinceId: 'b1' };
        expectEqual(
          await list(bench.tenant.agents, sessionId, options),
          ['a2', 'a3'],
          'an item of another task works as a cursor',
        );
        expectEqual((await page(bench.tenant.agents, sessionId, options)).cursorFound, true, 'the cursor is found');
      },
    }),

    cases({
      id: `agents/${name}/same-id-is-stored-once`,
      title: 'An id that is saved twice is stored once, at its first position',
      proves: [saving, '000 idempotency', 'AGT-7', 'GEN-8'],
      async run(bench) {
        const { agents } = bench.tenant;
        const sessionId = await filled(bench, log, 'u1 u2 u1 u3 u2');
        expectEqual(await list(agents, sessionId), ['u1', 'u2', 'u3'], 'a retry neither adds nor moves anything');
        await save(agents, sessionId, 'u1', 'task-b');
        expectEqual(await list(agents, sessionId, { taskId: 'task-b' }), [], 'the first write of an id wins');
      },
    }),

    cases({
      id: `agents/${name}/sessions-are-apart`,
      title: `A session sees its own ${name} only`,
      proves: [listing, 'AGT-7'],
      async run(bench) {
        const [one, two] = [await filled(bench, log, 'same x'), await filled(bench, log, 'same y')];
        expectEqual(
          await list(bench.tenant.agents, one),
          ['same', 'x'],
          'an id in one session does not affect the same id in another',
        );
        expectEqual(await list(bench.tenant.agents, two), ['same', 'y'], 'the other session has its own items');
      },
    }),

    cases({
      id: `agents/${name}/limits-are-checked`,
      title: 'A limit is an integer from 1 to 10 000',
      proves: ['AGT-7'],
      async run(bench) {
        const { agents } = bench.tenant;
        const sessionId = await filled(bench, log, 'u1 u2');
        for (const limit of [0, -1, 10_001, 1.5, Number.NaN, '5' as unknown as number, null as unknown as number]) {
          const error = await expectCode('INVALID_ARGUMENT', `limit ${limit} is refused`, () =>
            list(agents, sessionId, { limit }),
          );
          expectField(error, 'limit');
        }
        expectEqual(await list(agents, sessionId, { limit: 1 }), ['u1'], '1 is a valid limit');
        expectEqual(await list(agents, sessionId, { limit: 10_000 }), ['u1', 'u2'], '10 000 is a valid limit');
      },
    }),

    cases({
      id: `agents/${name}/concurrent-writers-are-strictly-ordered`,
      title: 'Items from concurrent writers have one order, the same for every reader',
      proves: ['000 ordering', 'AGT-7'],
      async run(bench) {
        const sessionId = bench.id('session');
        const clients = [bench.tenant.agents, await peerAgents(bench)];
        const writer = (w: number) => inOrder(idsOf(w), (id) => save(clients[w % 2]!, sessionId, id));
        await Promise.all([0, 1, 2, 3].map(writer));
        const whole = await list(clients[0]!, sessionId);
        expectEqual(whole.length, 100, 'every acknowledged item is listed');
        for (const w of [0, 1, 2, 3]) {
          expectEqual(
            whole.filter((id) => id.startsWith(`${w}-`)),
            idsOf(w),
            'items of one writer stay in order',
          );
        }
        expectEqual(await list(clients[1]!, sessionId), whole, 'another reader sees the same order');
        expectEqual(
          await list(clients[0]!, sessionId, { sinceId: whole[40]!, limit: 30 }),
          whole.slice(41, 71),
          'pages have the same order',
        );
      },
    }),

    cases({
      id: `agents/${name}/paging-while-writers-write`,
      title: 'A reader that pages while others write sees each item once',
      proves: ['000 ordering', '000 consistency', 'AGT-7'],
      async run(bench) {
        const sessionId = bench.id('session');
        const clients = [bench.tenant.agents, await peerAgents(bench)];
        let writing = true;
        const writers = Promise.all(
          [0, 1, 2, 3].map((w) => inOrder(idsOf(w), (id) => save(clients[w % 2]!, sessionId, id))),
        );
        const done = writers.finally(() => {
          writing = false;
        });
        const seen: string[] = [];
        for (let last = false; !last; ) {
          last = !writing;
          const sinceId = seen.at(-1);
          const items = await list(clients[1]!, sessionId, { sinceId, limit: 7 });
          seen.push(...items);
          if (items.length > 0) last = false;
          // Prevents a store that never leaves the microtask queue from starving the writers.
          await new Promise((resolve) => setImmediate(resolve));
          expect(seen.length <= 100, 'nothing is seen twice');
        }
        await done;
        expectEqual(
          seen,
          await list(clients[0]!, sessionId),
          'a reader behind a cursor misses nothing, in the order of the list',
        );
        expectEqual(new Set(seen).size, 100, 'each item exactly once');
      },
    }),
  ];
}

function idsOf(writer: number): string[] {
  return Array.from({ length: 25 }, (_, n) => `${writer}-${n}`);
}
