/**
 * One actor archives a run while the other redacts one of its events. Once the redaction is acknowledged, no copy that
 * the archiver makes may bring the payload back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createArchiver } from '@tidemark/runtime';
import { runEvent } from '../run-event.ts';
import { ignoring } from './actors.ts';
import { memoryTarget } from './memory-target.ts';
import type { Race } from './race.ts';

const SECRET = { secret: 'the payload that was redacted' };
const ORDER = { by: 'officer', reason: 'request 4711', tenantId: 'default' };

export const REDACTED_ARCHIVES: Race = {
  summary: 'redaction while a run is packed',
  rounds: { short: 8, long: 200 },
  async round({ a, b, id, random }) {
    const runId = `${id}-run`;
    await a.runs.appendEvents([runEvent(runId), runEvent(runId, `${id} secret`, SECRET), runEvent(runId)]);
    const archiver = createArchiver({ store: a, target: memoryTarget(random) });
    const archiving = archiver.archiveRun(runId, { tenantId: 'default' });
    await sleep(random.between(0, 12));
    const redacted = await b.runs.redactEvent(runId, 2, ORDER).catch(ignoring('RUN_ARCHIVED'));
    const { spared } = await archiving;
    const problems = spared.map(({ reason }) => `the run was not archived: ${reason}`);
    await archiver.restoreRun(runId, { tenantId: 'default' });
    const [, event] = await a.runs.fetchEvents(runId, { tenantId: 'default' });
    if (redacted && event!.payload !== undefined) problems.push('an acknowledged redaction was undone');
    return { checks: redacted ? 1 : 0, problems };
  },
};
