/** Tasks by session: a save older than the stored task is ignored; listed in order of creation (AGT-6). */

import { Damage } from '../checks/damage.ts';
import { checkJsonObject, encodeJsonMembers } from '../checks/json.ts';
import { checkInteger, checkTime } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf, checkOptionalId } from '../checks/text.ts';
import type { TaskCapability, TaskState, TaskStatus, TaskType } from '../contracts/agents.ts';
import type { TaskEngine, TaskRow } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { boundedItems, collectPages } from '../tools/paging.ts';

const STATUSES: readonly TaskStatus[] = ['PENDING', 'RUNNING', 'PAUSED', 'COMPLETE', 'FAILED', 'CANCELLED'];
const TYPES: readonly TaskType[] = ['FOREGROUND', 'BACKGROUND'];

/** Creates the task capability of one tenant. */
export function createTasks(context: StoreContext, engine: TaskEngine, tenantId: string): TaskCapability {
  const taskContext = (sessionId: string) => ({ tenantId, kind: 'task', owner: sessionId }) as const;

  return {
    async saveTask(task, options) {
      const row = prepareTask(context, task);
      row.body = context.payloads.encode(row.body, taskContext(row.sessionId));
      const write = context.writeOf('agents', 'saveTask', [task, options]);
      await context.write(options, write, (call) => engine.save(tenantId, row, call));
    },

    async listTasks(sessionId, options) {
      checkId(sessionId, 'sessionId');
      const bodies = await context.read(options, (call) => collectPages(engine.read(tenantId, sessionId, call)));
      return bodies.map((body) => context.payloads.decode<TaskState>(body, taskContext(sessionId)));
    },

    async *readTasks(sessionId, options) {
      checkId(sessionId, 'sessionId');
      const damage = new Damage();
      for await (const body of boundedItems(context, options, (call) => engine.read(tenantId, sessionId, call))) {
        const task = damage.attempt(() => context.payloads.decode<TaskState>(body, taskContext(sessionId)));
        if (task) yield task;
      }
      damage.report();
    },
  };
}

function prepareTask(context: StoreContext, task: TaskState): TaskRow {
  checkObject(task, 'task');
  const sessionId = checkId(task.sessionId, 'sessionId');
  const taskId = checkId(task.taskId, 'taskId');
  const status = checkOneOf(task.status, 'status', STATUSES);
  checkOneOf(task.taskType, 'taskType', TYPES);
  checkInteger(task.priority, 'priority', Number.MIN_SAFE_INTEGER);
  checkJsonObject(task.contextSnapshot, 'contextSnapshot');
  checkOptionalId(task.traceId, 'traceId');
  const createdAt = Date.parse(checkTime(task.createdAt, 'createdAt'));
  const updatedAt = Date.parse(checkTime(task.updatedAt, 'updatedAt'));
  const body = encodeJsonMembers(task, 'task', context.limits.documentBytes);
  return { sessionId, taskId, status, createdAt, updatedAt, body };
}
