/** `redact`: removes a payload permanently. The event and its link in the hash chain stay. */
import { TidemarkError } from '@tidemark/core';
import { defineCommand } from '../command.ts';
import { integer, one, required, text } from '../options.ts';

const redact = defineCommand({
  name: 'redact',
  summary: 'Remove the payload of an event permanently',
  details: 'The event stays and records who redacted it, when and why. The hash chain stays valid.',
  effect: 'destructive',
  args: { run: one('id of the run') },
  options: {
    seq: required(integer('seq', 'sequence of the event', 1)),
    by: required(text('name', 'who redacts it')),
    reason: required(text('text', 'reason for the redaction')),
  },
  examples: [
    { line: `redact order-7 --seq 3 --by ada --reason 'card number in the error' --yes`, shows: '"redacted":true' },
    { line: `redact order-7 --seq 3 --by ada --reason test --dry-run`, shows: '"would":"redact"' },
  ],
  async run({ store, out, args: { run }, options: { seq, by, reason }, dryRun, confirm, longCall }) {
    const { runs } = await store();
    const [event] = await runs.fetchEvents(run, { afterSeq: seq - 1, limit: 1 });
    if (event?.runSeq !== seq) throw new TidemarkError('NOT_FOUND', `Run ${JSON.stringify(run)} has no event ${seq}`);
    const { tenantId, eventType } = event;
    if (dryRun) return out.report({ dryRun: true, would: 'redact', runId: run, runSeq: seq, eventType });
    await confirm({ action: `remove the payload of event ${seq} (${eventType}) of ${run}`, answer: `${run} ${seq}` });
    const redacted = await runs.redactEvent(run, seq, { by, reason, tenantId, ...longCall });
    await out.report({ runId: run, runSeq: seq, redacted }, event.eventId);
  },
});

export const redactCommands = [redact];
