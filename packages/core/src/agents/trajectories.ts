/** Planner trajectories: a trace belongs to one session; saving it again makes it the most recent (AGT-9). */
import { encodeJsonObject } from '../checks/json.ts';
import { checkLimit } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import type { TrajectoryCapability } from '../contracts/agents.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { TrajectoryEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;

/** Creates the trajectory capability of one tenant. */
export function createTrajectories(
  context: StoreContext,
  engine: TrajectoryEngine,
  tenantId: string,
): TrajectoryCapability {
  const trajectoryContext = (traceId: string, sessionId: string) =>
    ({ tenantId, kind: 'trajectory', owner: sessionId, item: traceId }) as const;

  return {
    async saveTrajectory(traceId, sessionId, trajectory, options) {
      checkId(traceId, 'traceId');
      checkId(sessionId, 'sessionId');
      const text = encodeJsonObject(trajectory, 'trajectory', context.limits.documentBytes);
      const body = context.payloads.encode(text, trajectoryContext(traceId, sessionId));
      const write = context.writeOf('agents', 'saveTrajectory', [traceId, sessionId, trajectory, options]);
      const outcome = await context.write(options, write, (call) =>
        engine.save(tenantId, { traceId, sessionId, body }, call),
      );
      if (outcome === 'other-session') throw sessionMismatch();
    },

    async getTrajectory(traceId, sessionId, options) {
      checkId(traceId, 'traceId');
      checkId(sessionId, 'sessionId');
      const body = await context.read(options, (call) => engine.get(tenantId, traceId, sessionId, call));
      return body === null ? null : context.payloads.decode(body, trajectoryContext(traceId, sessionId));
    },

    async listTraces(sessionId, limit, options) {
      checkId(sessionId, 'sessionId');
      const most = checkLimit(limit, DEFAULT_LIMIT, MAX_LIMIT);
      return context.read(options, (call) => engine.list(tenantId, sessionId, most, call));
    },
  };
}

function sessionMismatch(): TidemarkError {
  return new TidemarkError(
    'SESSION_MISMATCH',
    'The trace belongs to another session; save the trajectory under that session or use another trace id',
    { field: 'sessionId', rule: 'the session the trace was first saved under' },
  );
}
