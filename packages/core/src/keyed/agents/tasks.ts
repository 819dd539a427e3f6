/** Tasks over records: one per (session, task), written conditionally, so that the newest save wins (AGT-6). */
import type { TaskEngine } from '../../engine/agents.ts';
import type { EngineCall } from '../../engine/call.ts';
import type { RecordName, Records } from '../../engine/records.ts';
import { CONFLICT, type Contention } from '../../tools/contention.ts';
import { joinKey, keyPrefix } from '../../tools/joined-keys.ts';
import { inParts } from '../../tools/paging.ts';
import { fieldsOf, numberField, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';
import type { SessionBook } from './session-book.ts';

const PAGE = 100;

export interface KeyedTasks extends TaskEngine {
  /** Removes all tasks of a session and returns their number. */
  removeAll(tenantId: string, sessionId: string, call: EngineCall): Promise<number>;
}

export function keyedTasks(records: Records, contention: Contention, sessions: SessionBook): KeyedTasks {
  return {
    async save(tenantId, task, call) {
      const { sessionId, createdAt, updatedAt, body } = task;
      const name: RecordName = { space: 'tasks', tenantId, key: joinKey([sessionId, task.taskId]) };
      let order: number | null = null;
      const saved = await contention.settle(call, async () => {
        const [stored] = await records.get([name], call);
        if (stored && numberField(stored, 'updatedAt') > updatedAt) return false;
        // The order among tasks with the same `createdAt`, assigned at the first save.
        order = stored ? numberField(stored, 'order') : (order ?? (await sessions.next(tenantId, sessionId, call)));
        const set = fieldsOf({ body, createdAt, updatedAt, order });
        const expect = { revision: stored?.revision ?? 0 };
        return (await records.write({ name, mode: 'replace', expect, set }, call)).applied || CONFLICT;
      });
      if (saved) await sessions.touch(tenantId, sessionId, call);
    },

    async *read(tenantId, sessionId, call) {
      const tasks: { createdAt: number; order: number; body: string }[] = [];
      const range = { prefix: keyPrefix([sessionId]), page: PAGE };
      for await (const record of scanRecords(records, 'tasks', tenantId, range, call)) {
        const [createdAt, order] = [numberField(record, 'createdAt'), numberField(record, 'order')];
        tasks.push({ createdAt, order, body: textField(record, 'body')! });
      }
      tasks.sort((a, b) => a.createdAt - b.createdAt || a.order - b.order);
      for (const page of inParts(tasks, PAGE)) yield page.map((task) => task.body);
    },

    async removeAll(tenantId, sessionId, call) {
      let removed = 0;
      const range = { prefix: keyPrefix([sessionId]), page: PAGE };
      for await (const { key } of scanRecords(records, 'tasks', tenantId, range, call)) {
        const name: RecordName = { space: 'tasks', tenantId, key };
        if ((await records.write({ name, mode: 'delete', set: new Map() }, call)).existed) removed++;
      }
      return removed;
    },
  };
}
