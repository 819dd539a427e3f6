/** The sessions of tasks, updates, steering and trajectories: listed by id, removed as a whole. */
import { checkLimit } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import type { SessionCapability } from '../contracts/agents.ts';
import type { SessionEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { cursorKey, pageOf, withDamage } from '../tools/paging.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

/** Creates the session capability of one tenant. */
export function createSessions(context: StoreContext, engine: SessionEngine, tenantId: string): SessionCapability {
  return {
    async listSessions(options) {
      const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
      const after = cursorKey('sessions', options?.cursor);
      const damaged: string[] = [];
      const rows = await context.read(options, (call) =>
        engine.list(tenantId, { after, limit: limit + 1 }, { ...call, damaged }),
      );
      const page = pageOf(
        'sessions',
        rows,
        limit,
        (session) => session.sessionId,
        (session) => session,
      );
      return withDamage(page, damaged);
    },

    async deleteSession(sessionId, options) {
      checkId(sessionId, 'sessionId');
      const write = context.writeOf('agents', 'deleteSession', [sessionId, options]);
      return context.write(options, write, (call) => engine.remove(tenantId, sessionId, call));
    },
  };
}
