/**
 * One actor redacts an event while the other refreshes the snapshot that contains the payload, and stalls before it
 * saves the fold. Once the redaction is acknowledged, no snapshot may contain the payload.
 */
import { runEvent } from '../run-event.ts';
import { until } from './actors.ts';
import type { Race } from './race.ts';
import { stallingSnapshots } from './stalling.ts';

const SECRET = 'the payload that was redacted';
const ORDER = { by: 'officer', reason: 'request 4711' };

export const REDACTED_SNAPSHOTS: Race = {
  summary: "' redaction while snapshot writers stall",
  rounds: { short: 6, long: 150 },
  async round({ a, b, id }) {
    const runId = `${id}-run`;
    const { runs } = a.forTenant('default');
    const failed = runEvent(runId, 'failed', { errorCode: 'E1', errorMessage: SECRET });
    await runs.appendEvents([
      { ...runEvent(runId, 'started'), eventType: 'RunStarted' },
      { ...failed, eventType: 'RunFailed' },
    ]);
    const slow = stallingSnapshots(b);
    const stalling = slow.store.forTenant('default').runs.refreshSnapshot(runId);
    await slow.stalled;
    const done = new AbortController();
    const beside = b.forTenant('default').runs;
    const refreshing = until(done.signal, () => beside.refreshSnapshot(runId));
    await runs.redactEvent(runId, 2, ORDER);
    slow.resume();
    done.abort();
    await Promise.all([stalling, refreshing]);
    const problems: string[] = [];
    const look = (what: string, snapshot: unknown) => {
      if (JSON.stringify(snapshot).includes(SECRET)) problems.push(`${what} holds the redacted payload`);
    };
    look('the stored snapshot', await runs.getSnapshot(runId));
    look('the projected snapshot', await beside.projectSnapshot(runId));
    look('the refreshed snapshot', (await runs.refreshSnapshot(runId)).snapshot);
    return { checks: 1, problems };
  },
};
