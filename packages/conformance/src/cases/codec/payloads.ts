/** Payloads through a codec are returned as sent, and all other promises still hold. */
import { randomBytes } from 'node:crypto';
import { type EncodedPayload, type JsonObject, type PayloadCodec, type PayloadContext, replay } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { generalCase, runsCase } from '../define.ts';
import { runEvent } from '../runs/events.ts';
import { KEY_ID, keptPayloads, newCodec } from './kept-payloads.ts';

const VALUES: readonly JsonObject[] = [{ text: 'wave 🌊' }, { text: 'again and again '.repeat(25) }];

/** Returns every payload unchanged and records its context. */
function recording(contexts: PayloadContext[]): PayloadCodec {
  const record = (payload: EncodedPayload, context: PayloadContext) => {
    contexts.push(context);
    return payload;
  };
  return { encrypts: false, formOf: () => 'noted', encode: record, decode: (payload) => payload };
}

const contextKey = ({ tenantId, kind, owner, item }: PayloadContext) => JSON.stringify([tenantId, kind, owner, item]);

export const PAYLOAD_CODEC_CASES: readonly ConformanceCase[] = [
  generalCase({
    id: 'general/codec-gives-back-what-was-sent',
    title: 'Values that pass a codec are returned as sent, and unknown keys stay unknown',
    proves: ['GEN-4'],
    needs: ['payloadCodec'],
    async run(bench) {
      const store = bench.encoded(newCodec());
      for (const { name, save, load } of keptPayloads(bench)) {
        expectEqual(await load(store, bench.id()), undefined, `an unknown ${name} is not found`);
        for (const value of VALUES) {
          const id = bench.id();
          await save(store, id, value);
          expectEqual<unknown>(await load(store, id), value, `the ${name} is returned as sent`);
        }
      }
    },
  }),

  generalCase({
    id: 'general/codec-leaves-nothing-readable',
    title: 'Encoded values cannot be read without the codec, and the error names the key',
    proves: ['GEN-4', 'GEN-1'],
    needs: ['payloadCodec'],
    async run(bench) {
      const store = bench.encoded(newCodec());
      for (const { name, save, load } of keptPayloads(bench)) {
        const id = bench.id();
        await save(store, id, VALUES[0]!);
        const error = await expectCode('CODEC_FAILED', `the ${name} is refused`, () => load(bench.tenant, id));
        expectEqual(error.keyId, KEY_ID, 'the error names the required key');
        expect(!error.retryable && error.message.includes(KEY_ID), 'the message names the required key');
        await expectCode('CODEC_FAILED', `another key of that id does not open the ${name}`, () =>
          load(bench.encoded(newCodec()), id),
        );
      }
    },
  }),

  generalCase({
    id: 'general/codec-refuses-plain-payloads',
    title: 'When encryption is required, values stored without it are rejected',
    proves: ['GEN-4'],
    needs: ['payloadCodec'],
    async run(bench) {
      const store = bench.encoded(newCodec());
      for (const { name, save, load } of keptPayloads(bench)) {
        const id = bench.id();
        await save(bench.tenant, id, VALUES[0]!);
        await expectCode('CODEC_FAILED', `the plain ${name} is refused`, () => load(store, id));
      }
    },
  }),

  generalCase({
    id: 'general/codec-places-are-apart',
    title: 'Each payload is encoded for its own context, so that none can be swapped for another',
    proves: ['GEN-5', 'GEN-10'],
    needs: ['payloadCodec'],
    async run(bench) {
      const contexts: PayloadContext[] = [];
      const store = bench.encoded(recording(contexts));
      for (const { name, save } of keptPayloads(bench)) {
        const seen = new Set(contexts.map(contextKey));
        for (const text of ['one', 'two']) {
          const before = contexts.length;
          await save(store, bench.id(), { text });
          // The bytes of an artifact are bound to it by their hash, which is only known after the last byte.
          const fresh = contexts.slice(before).filter(({ kind }) => kind !== 'artifact-bytes');
          expect(fresh.length > 0, `the ${name} passes the codec`);
          expect(
            fresh.every((context) => context.tenantId === bench.tenantId && !seen.has(contextKey(context))),
            `the ${name} has its own context, in its tenant`,
          );
          for (const context of fresh) seen.add(contextKey(context));
        }
      }
    },
  }),

  generalCase({
    id: 'general/codec-limits-count-plain-bytes',
    title: 'The size limit counts plain bytes: a payload at the limit is stored even if its encoded form is larger',
    proves: ['GEN-4'],
    needs: ['payloadCodec', 'runs', 'memory'],
    async run(bench) {
      const store = bench.encoded(newCodec());
      const { eventPayloadBytes, documentBytes } = bench.store.info.limits;
      const largest = (bytes: number) => {
        const spare = bytes - JSON.stringify({ text: '' }).length;
        return { text: randomBytes(spare).toString('hex').slice(0, spare) };
      };
      const runId = bench.id('run');
      const payload = largest(eventPayloadBytes);
      await store.runs.appendEvent(runEvent(bench, { runId, payload }));
      expect(
        (await store.runs.fetchEvents(runId))[0]?.payload?.text === payload.text,
        'the event is returned unchanged',
      );
      const key = bench.id('key');
      const state = largest(documentBytes);
      await store.agents.saveMemoryState(key, state);
      expect((await store.agents.loadMemoryState(key))?.text === state.text, 'the memory state is returned unchanged');
      await expectCode('PAYLOAD_TOO_LARGE', 'one byte more is refused', () =>
        store.runs.appendEvent(runEvent(bench, { runId, payload: { text: `${payload.text}1` } })),
      );
    },
  }),

  generalCase({
    id: 'general/reserved-member-is-refused',
    title: 'A payload with the member that marks encoded payloads is rejected before anything is written',
    proves: ['GEN-4', 'GEN-1'],
    needs: ['runs', 'memory'],
    async run({ tenant, tenantId, id }) {
      const [runId, key] = [id('run'), id('key')];
      const forged = { $tidemark: { steps: [], data: '' } };
      const refused = await expectCode('INVALID_PAYLOAD', 'an event with it is refused', () =>
        tenant.runs.appendEvent(runEvent({ tenantId }, { runId, payload: forged })),
      );
      expectEqual(refused.field, 'payload.$tidemark', 'the error names the member');
      await expectCode('INVALID_PAYLOAD', 'a memory state with it is refused', () =>
        tenant.agents.saveMemoryState(key, forged),
      );
      expectEqual(await tenant.runs.headSeq(runId), 0, 'no event was written');
      expectEqual(await tenant.agents.loadMemoryState(key), null, 'no state was written');
      await tenant.agents.saveMemoryState(key, { deeper: forged });
      expectEqual(
        await tenant.agents.loadMemoryState(key),
        { deeper: forged },
        'in nested objects the member is allowed',
      );
    },
  }),

  generalCase({
    id: 'general/codec-failure-loses-no-pause',
    title: 'Loading or claiming a pause without its codec fails and does not consume it',
    proves: ['AGT-4'],
    needs: ['payloadCodec', 'pauses'],
    async run(bench) {
      const store = bench.encoded(newCodec());
      const [loaded, claimed] = [bench.id('token'), bench.id('token')];
      for (const token of [loaded, claimed]) await store.agents.savePlannerState(token, { step: 7 });
      const error = await expectCode('CODEC_FAILED', 'a load without the codec is refused', () =>
        bench.tenant.agents.loadPlannerState(loaded),
      );
      const again = await replay(store, error.write!, { withheld: loaded });
      expectEqual<unknown>(again, { step: 7 }, 'replayed with the codec, the same load returns the payload');
      await expectCode('CODEC_FAILED', 'a claim without the codec is refused', () =>
        bench.tenant.agents.claimPause(claimed),
      );
      const claim = await store.agents.claimPause(claimed);
      expectEqual<unknown>(claim?.payload, { step: 7 }, 'the pause can be claimed immediately');
    },
  }),

  runsCase({
    id: 'runs/codec-keeps-chain-and-duplicates',
    title: 'With a codec the hash chain covers the stored form, and duplicates are compared by plain payload',
    proves: ['RUN-4', 'RUN-17'],
    needs: ['payloadCodec'],
    async run(bench) {
      const store = bench.encoded(newCodec());
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, payload: { a: 1, b: 2 } });
      await store.runs.appendEvents([event, runEvent(bench, { runId, payload: { text: 'x'.repeat(5_000) } })]);
      const again = await store.runs.appendEvent({ ...event, payload: { b: 2, a: 1 } });
      expect(again.idempotent && again.payloadMatches === true, 'the same payload in another order matches');
      const other = await store.runs.appendEvent({ ...event, payload: { a: 1, b: 3 } });
      expect(other.idempotent && other.payloadMatches === false, 'another payload does not match');
      for (const view of [store, bench.tenant]) {
        const { ok, events } = await view.runs.verify(runId);
        expectEqual({ ok, events }, { ok: true, events: 2 }, 'the chain verifies with the codec and without');
      }
    },
  }),
];
