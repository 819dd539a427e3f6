/** Tasks: one per session and id, never overwritten by an older save, in order of creation (AGT-6). */
import type { TaskState } from '@tidemark/core';
import { expectEqual } from '../../expect.ts';
import { all } from '../iterate.ts';
import { at, casesOf, inOrder, peerAgents, task } from './samples.ts';

const tasks = casesOf('agents', 'tasks');

export const TASK_CASES = [
  tasks({
    id: 'agents/tasks/come-back-whole',
    title: 'A task is returned with every field as it was saved',
    proves: ['000 save_task', '000 list_tasks', 'AGT-1'],
    async run(bench) {
      const sessionId = bench.id('session');
      const full = task(sessionId);
      await bench.tenant.agents.saveTask(full);
      expectEqual(await bench.tenant.agents.listTasks(sessionId), [full], 'a task is returned as it was saved');
      expectEqual(await (await peerAgents(bench)).listTasks(sessionId), [full], 'other clients read it immediately');
    },
  }),

  tasks({
    id: 'agents/tasks/every-status-and-type',
    title: 'Every status and type of a task can be stored',
    proves: ['AGT-1', '000 save_task'],
    async run(bench) {
      const sessionId = bench.id('session');
      const statuses = ['PENDING', 'RUNNING', 'PAUSED', 'COMPLETE', 'FAILED', 'CANCELLED'] as const;
      const tasksOfAll = statuses.map((status, n): TaskState => {
        const taskType = n % 2 === 0 ? 'FOREGROUND' : 'BACKGROUND';
        return task(sessionId, { taskId: status, status, taskType, priority: -n || 0, result: n, createdAt: at(n) });
      });
      await inOrder(tasksOfAll, (one) => bench.tenant.agents.saveTask(one));
      expectEqual(await bench.tenant.agents.listTasks(sessionId), tasksOfAll, 'enum values stay as they are');
    },
  }),

  tasks({
    id: 'agents/tasks/unknown-session-is-empty',
    title: 'An unknown session has no tasks and is not an error',
    proves: ['000 list_tasks', '000 errors'],
    async run(bench) {
      const sessionId = bench.id('unknown');
      expectEqual(await bench.tenant.agents.listTasks(sessionId), [], 'an unknown session has no tasks');
      expectEqual(
        await all(bench.tenant.agents.readTasks(sessionId)),
        [],
        'iterating over an unknown session yields nothing',
      );
    },
  }),

  tasks({
    id: 'agents/tasks/saving-again-updates',
    title: 'Saving a task again updates it',
    proves: ['000 save_task', '000 idempotency', 'AGT-6'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      await agents.saveTask(task(sessionId));
      await agents.saveTask(task(sessionId));
      const done = task(sessionId, { status: 'COMPLETE', result: 'ready', updatedAt: at(1_000) });
      await agents.saveTask(done);
      expectEqual(await agents.listTasks(sessionId), [done], 'there is one task, as it was last saved');
    },
  }),

  tasks({
    id: 'agents/tasks/older-saves-change-nothing',
    title: 'A save older than the stored task changes nothing and is not an error',
    proves: ['AGT-6'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const done = task(sessionId, { status: 'COMPLETE', updatedAt: at(1_000) });
      await agents.saveTask(done);
      await agents.saveTask(task(sessionId, { status: 'RUNNING', updatedAt: at(999) }));
      expectEqual(await agents.listTasks(sessionId), [done], 'a late, older save does not undo a newer one');
      const cancelled = task(sessionId, { status: 'CANCELLED', updatedAt: at(1_000) });
      await agents.saveTask(cancelled);
      expectEqual(await agents.listTasks(sessionId), [cancelled], 'a save with the same time overwrites');
    },
  }),

  tasks({
    id: 'agents/tasks/age-is-compared-as-time',
    title: 'The age of a save is compared as time, not as text',
    proves: ['AGT-6', 'GEN-2'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const newer = task(sessionId, { status: 'COMPLETE', updatedAt: '2026-02-16T09:30:00.500Z' });
      await agents.saveTask(newer);
      await agents.saveTask(task(sessionId, { status: 'RUNNING', updatedAt: '2026-02-16T09:30:00Z' }));
      expectEqual(
        await agents.listTasks(sessionId),
        [newer],
        '09:30:00Z is before 09:30:00.500Z, although it is greater as text',
      );
    },
  }),

  tasks({
    id: 'agents/tasks/newest-of-many-savers-stands',
    title: 'Of concurrent saves the newest wins',
    proves: ['AGT-6', '000 consistency'],
    async run(bench) {
      const sessionId = bench.id('session');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const ages = [7, 19, 3, 12, 0, 18, 5, 11, 16, 2, 9, 14];
      await Promise.all(
        ages.map((age, n) => clients[n % 2]!.saveTask(task(sessionId, { result: age, updatedAt: at(age) }))),
      );
      expectEqual(
        (await bench.tenant.agents.listTasks(sessionId)).map((one) => one.result),
        [19],
        'the newest save wins',
      );
    },
  }),

  tasks({
    id: 'agents/tasks/in-order-of-creation',
    title: 'Tasks are listed in order of creation',
    proves: ['AGT-6', '000 list_tasks'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const created: [string, number][] = [
        ['third', 30],
        ['first', 10],
        ['second', 20],
        ['z-tied', 40],
        ['a-tied', 40],
      ];
      await inOrder(created, ([taskId, ms]) => agents.saveTask(task(sessionId, { taskId, createdAt: at(ms) })));
      await agents.saveTask(task(sessionId, { taskId: 'first', createdAt: at(10), updatedAt: at(99) }));
      const order = ['first', 'second', 'third', 'z-tied', 'a-tied'];
      expectEqual(
        (await agents.listTasks(sessionId)).map((one) => one.taskId),
        order,
        'by creation, then by first save; an update moves nothing',
      );
      expectEqual(
        (await all(agents.readTasks(sessionId))).map((one) => one.taskId),
        order,
        'the iterator yields the same tasks',
      );
    },
  }),

  tasks({
    id: 'agents/tasks/sessions-are-apart',
    title: 'A session sees its own tasks only',
    proves: ['AGT-6', '000 list_tasks'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [one, two] = [bench.id('session'), bench.id('session')];
      await agents.saveTask(task(one, { description: 'the session has its own task' }));
      await agents.saveTask(task(two, { description: 'the other session has its own task' }));
      expectEqual(
        await agents.listTasks(one),
        [task(one, { description: 'the session has its own task' })],
        'the same task id in two sessions is two tasks',
      );
    },
  }),

  tasks({
    id: 'agents/tasks/all-of-them',
    title: 'All tasks of a session are listed, even if there are many',
    proves: ['000 list_tasks'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const ids = Array.from({ length: 300 }, (_, n) => `task-${n}`);
      for (let from = 0; from < ids.length; from += 50) {
        const batch = ids
          .slice(from, from + 50)
          .map((taskId, n) => task(sessionId, { taskId, createdAt: at(from + n) }));
        await Promise.all(batch.map((one) => agents.saveTask(one)));
      }
      expectEqual(
        (await agents.listTasks(sessionId)).map((one) => one.taskId),
        ids,
        'none is missing',
      );
      expectEqual(
        (await all(agents.readTasks(sessionId))).map((one) => one.taskId),
        ids,
        'the iterator yields all of them',
      );
    },
  }),

  tasks({
    id: 'agents/tasks/many-of-one-moment',
    title: 'Hundreds of tasks created in the same millisecond are listed once each, in order of their first save',
    proves: ['AGT-6'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      // Ids in a different order from the saves, so that the two orders cannot be confused.
      const ids = Array.from({ length: 250 }, (_, n) => `task-${(n * 37) % 250}`);
      await inOrder(ids, (taskId) => agents.saveTask(task(sessionId, { taskId, createdAt: at(7) })));
      await agents.saveTask(task(sessionId, { taskId: 'earlier', createdAt: at(6) }));
      await agents.saveTask(task(sessionId, { taskId: 'later', createdAt: at(8) }));
      const expected = ['earlier', ...ids, 'later'];
      const listed = (await agents.listTasks(sessionId)).map((one) => one.taskId);
      expectEqual(listed, expected, 'tasks are in order of their first save');
      expectEqual(
        (await all(agents.readTasks(sessionId))).map((one) => one.taskId),
        expected,
        'the iterator has the same order',
      );
    },
  }),
];
