/** Planner events over journals: one journal per trace, in order of arrival (AGT-10). */
import type { PlannerEventEngine } from '../../engine/agents.ts';
import type { EngineCall } from '../../engine/call.ts';
import type { Journal } from '../../engine/journal.ts';
import type { Contention } from '../../tools/contention.ts';
import { LogAppender } from '../log-appender.ts';
import { readJournal } from '../scan.ts';

export interface KeyedPlannerEvents extends PlannerEventEngine {
  /** Removes all events of a trace and returns their number. */
  removeAll(tenantId: string, traceId: string, call: EngineCall): Promise<number>;
}

export function keyedPlannerEvents(journal: Journal, contention: Contention): KeyedPlannerEvents {
  const appender = new LogAppender(journal, 'plannerEvents', contention);
  return {
    append(tenantId, traceId, event, call) {
      return appender.append(tenantId, traceId, [{ key: event.id, body: event.body }], call);
    },

    async *read(tenantId, traceId, call) {
      const name = { space: 'plannerEvents', tenantId, name: traceId } as const;
      for await (const page of readJournal(journal, name, call)) yield page.map((entry) => entry.body);
    },

    removeAll(tenantId, traceId, call) {
      return journal.remove({ space: 'plannerEvents', tenantId, name: traceId }, null, call);
    },
  };
}
