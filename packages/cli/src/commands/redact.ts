/** `redact`: takes a payload out of the log for good; the event and the proof of its place stay. */
import { TidemarkError } from '@tidemark/core';
import { defineCommand } from '../command.ts';
import { integer, one, required, text } from '../options.ts';

const redact = defineCommand({
  name: 'redact',
  summary: 'Take the payload out of an event for good',
  details: 'The event stays with who did it, when and why; the hash chain stays valid.',
  effect: 'destructive',
  args: { run: one('id of the run') },
  options: {
    seq: required(integer('seq', 'sequence of the event', 1)),
    by: required(text('name', 'who does it')),
    reason: required(text('text', 'why')),
  },
  examples: [
    { line: `redact order-7 --seq 3 --by ada --reason 'card number in the error' --yes`, shows: '"redacted":true' },
    { line: `redact order-7 --seq 3 --by ada --reason test --dry-run`, shows: '"would":"redact"' },
  ],
  async run({ store, out, args: { run }, options: { seq, by, reason }, dryRun, confirm, patient }) {
    const { runs } = await store();
    const [event] = await runs.fetchEvents(run, { afterSeq: seq - 1, limit: 1 });
    if (event?.runSeq !== seq) throw new TidemarkError('NOT_FOUND', `Run ${JSON.stringify(run)} has no event ${seq}`);
    const { tenantId, eventType } = event;
    if (dryRun) return out.report({ dryRun: true, would: 'redact', runId: run, runSeq: seq, eventType });
    await confirm({ action: `take the payload out of event ${seq} (${eventType}) of ${run}`, answer: `${run} ${seq}` });
    const redacted = await runs.redactEvent(run, seq, { by, reason, tenantId, ...patient });
    await out.report({ runId: run, runSeq: seq, redacted }, event.eventId);
  },
});

export const redactCommands = [redact];
