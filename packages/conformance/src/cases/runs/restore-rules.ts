/** Restored events obey the limits and times of appended events and can be read (RUN-6, GEN-4). */
import { memoryStore, type PayloadCodec, type RunPart, type StoreOptions } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { archive, carriedRun, exported } from './carried-runs.ts';
import { runEvent } from './events.ts';

const FUTURE = '9999-01-01T00:00:00.000Z';
/** Earlier than the clock of any bench. */
const PAST_MS = Date.parse('2020-01-01T00:00:00.000Z');

/** Returns the parts of a run with one payload, exported by a store with other options. */
async function fromElsewhere(
  bench: Bench,
  options: StoreOptions,
  payload: Record<string, unknown>,
): Promise<RunPart[]> {
  const elsewhere = memoryStore({ clock: () => PAST_MS, ...options });
  try {
    const tenant = elsewhere.forTenant(bench.tenantId);
    const event = runEvent(bench, { runId: bench.id('run'), payload });
    await tenant.runs.appendEvent(event);
    return await exported(tenant, event.runId);
  } finally {
    await elsewhere.close();
  }
}

/** A codec that no store knows. Its payloads look like those of any other codec. */
const UNKNOWN_CODEC: PayloadCodec = {
  encrypts: false,
  formOf: () => 'unknown',
  encode: (payload) => ({ ...payload, steps: [...payload.steps, 'unknown'] }),
  decode: (payload) => ({ ...payload, steps: payload.steps.slice(0, -1) }),
};

async function expectNothing({ tenant }: Bench, [part]: readonly RunPart[], what: string): Promise<void> {
  expectEqual(await tenant.runs.headSeq(part!.run.runId), 0, `${what}: nothing was written`);
}

export const RESTORE_RULE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/restored-payloads-obey-the-limit',
    title: 'a restored payload exactly at the limit is accepted; one byte more is PAYLOAD_TOO_LARGE',
    proves: ['GEN-4', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const limit = bench.store.info.limits.eventPayloadBytes;
      const payloadOf = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) });
      const runId = bench.id('run');
      await runs.appendEvent(runEvent(bench, { runId, payload: payloadOf(limit) }));
      const largest = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      expectEqual((await runs.restoreRun(largest)).restored, true, 'the largest payload is restored');
      const limits = { eventPayloadBytes: 4 * limit };
      // A store that requires encryption refuses plain payloads of any size, but still reports that a payload is too
      // large.
      const small = await runs.restoreRun(await fromElsewhere(bench, {}, { n: 1 })).catch((error) => error);
      for (const bytes of small?.code === 'INVALID_PAYLOAD' ? [3 * limit] : [limit + 1, 3 * limit]) {
        const parts = await fromElsewhere(bench, { limits }, payloadOf(bytes));
        await expectCode('PAYLOAD_TOO_LARGE', `${bytes} bytes`, () => runs.restoreRun(parts));
        await expectNothing(bench, parts, `${bytes} bytes`);
      }
    },
  }),
  runsCase({
    id: 'runs/restored-times-are-past',
    title:
      'a run with times in the future is rejected, because later events could not follow it; the store’s own exports are accepted',
    proves: ['RUN-6', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      const forged = structuredClone(parts) as RunPart[];
      forged.at(-1)!.events.at(-1)!.persistedAt = FUTURE;
      const error = await expectCode('INVALID_ARGUMENT', 'an event in the future', () => runs.restoreRun(forged));
      expectEqual(error.field, 'persistedAt', 'the error names persistedAt');
      for (const part of forged) part.run.updatedAt = FUTURE;
      const other = await expectCode('INVALID_ARGUMENT', 'a run in the future', () => runs.restoreRun(forged));
      expect(other.field === 'updatedAt' || other.field === 'persistedAt', 'the error names the time');
      expectEqual(await runs.archiveLocation(runId), 'somewhere', 'the run is still archived');
      expectEqual((await runs.restoreRun(parts)).restored, true, 'the store’s own export is restored');
    },
  }),
  runsCase({
    id: 'runs/restored-payloads-can-be-read',
    title:
      'a payload that looks encoded but cannot be decoded is rejected unless keepEncoded is set, and the feed continues',
    proves: ['RUN-15', 'GEN-4'],
    async run(bench) {
      const { runs } = bench.tenant;
      const parts = await fromElsewhere(bench, { codec: UNKNOWN_CODEC }, { n: 1 });
      const error = await expectCode('INVALID_PAYLOAD', 'an unknown codec', () => runs.restoreRun(parts));
      expectEqual(error.field, 'payload', 'the error names the payload');
      await expectNothing(bench, parts, 'an unknown codec');
      const { runId } = parts[0]!.run;
      expectEqual((await bench.store.forTenant(bench.tenantId).runs.listRuns()).items.length, 0, 'no run is listed');
      const kept = await bench.store.runs.restoreRun(parts, { keepEncoded: true });
      expectEqual(kept.restored, true, 'keepEncoded restores it');
      await expectCode('CODEC_FAILED', 'reading it fails', () => runs.fetchEvents(runId));
      await runs.deleteRun(runId);
    },
  }),
];
