/** Payload fidelity (GEN-4): values are returned deep-equal or refused before anything is written. */
import type { AgentStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { nestedTo, POISON_PAYLOADS, unrepresentable } from '../poison.ts';
import { CARRIERS, type Carrier } from './carriers.ts';
import { casesOf } from './samples.ts';

const MAX_DEPTH = 64;

/** Sanitising removes unprintable characters from steering texts, and these payloads contain some. */
const REWRITTEN_BY_SANITISING = ['NUL characters', 'lone surrogates', 'escapes', 'emoji and right to left'];

function poisonFor(carrier: Carrier): readonly [name: string, json: string][] {
  return carrier.limit ? POISON_PAYLOADS : POISON_PAYLOADS.filter(([name]) => !REWRITTEN_BY_SANITISING.includes(name));
}

async function expectNothing(carrier: Carrier, agents: AgentStore, id: string): Promise<void> {
  expectEqual(await carrier.load(agents, id), undefined, 'a refused value leaves nothing behind');
}

function payloadCases(carrier: Carrier): ConformanceCase[] {
  const { name, clause, limit } = carrier;
  const cases = casesOf('agents', carrier.capability);

  const always = [
    cases({
      id: `agents/payloads/${name}/poison-comes-back`,
      title: 'Values that engines are known to corrupt are returned deep-equal',
      proves: [clause, 'GEN-4'],
      async run(bench) {
        for (const [what, json] of poisonFor(carrier)) {
          const id = bench.id();
          await carrier.save(bench.tenant.agents, id, JSON.parse(json));
          expectEqual<unknown>(
            await carrier.load(bench.tenant.agents, id),
            JSON.parse(json),
            `${what} are returned deep-equal`,
          );
        }
        expect(({} as { polluted?: boolean }).polluted === undefined, 'no prototype was changed');
      },
    }),

    cases({
      id: `agents/payloads/${name}/undefined-is-absent`,
      title: 'Properties that are undefined are absent, and -0 is 0',
      proves: ['GEN-4'],
      async run(bench) {
        const id = bench.id();
        await carrier.save(bench.tenant.agents, id, { kept: 1, gone: undefined, zero: -0, inner: { gone: undefined } });
        expectEqual<unknown>(
          await carrier.load(bench.tenant.agents, id),
          { kept: 1, zero: 0, inner: {} },
          'the value is as JSON represents it',
        );
      },
    }),

    cases({
      id: `agents/payloads/${name}/non-json-is-refused`,
      title: 'A value that JSON cannot represent is rejected by name before anything is written',
      proves: [clause, 'GEN-4', 'GEN-1'],
      async run(bench) {
        const { agents } = bench.tenant;
        const id = bench.id();
        for (const [what, value] of unrepresentable()) {
          const error = await expectCode('INVALID_PAYLOAD', `${what} is refused`, () =>
            carrier.save(agents, id, { deep: { bad: value } }),
          );
          expect(
            error.field?.includes(carrier.field),
            `the error for ${what} names ${carrier.field}, not ${error.field}`,
          );
          expect(!error.retryable && error.outcome === 'rejected', 'the error is not retryable');
        }
        for (const value of carrier.objectOnly ? ['text', 7, ['list'], null, new Date(0)] : []) {
          await expectCode('INVALID_PAYLOAD', `${JSON.stringify(value)} is not an object`, () =>
            carrier.save(agents, id, value as never),
          );
        }
        await expectNothing(carrier, agents, id);
      },
    }),

    cases({
      id: `agents/payloads/${name}/copied-in-and-out`,
      title: 'Stored and returned values are copies',
      proves: ['GEN-4'],
      async run(bench) {
        const { agents } = bench.tenant;
        const id = bench.id();
        const mine = { list: [{ n: 1 }] };
        const saving = carrier.save(agents, id, mine);
        mine.list[0]!.n = 2;
        await saving;
        mine.list.push({ n: 3 });
        const read = (await carrier.load(agents, id)) as typeof mine;
        expectEqual(read, { list: [{ n: 1 }] }, 'changing a value after saving it changes nothing stored');
        read.list[0]!.n = 4;
        expectEqual<unknown>(
          await carrier.load(agents, id),
          { list: [{ n: 1 }] },
          'changing a returned value changes nothing stored',
        );
      },
    }),
  ];
  if (!limit) return always;

  return [
    ...always,
    cases({
      id: `agents/payloads/${name}/nesting-up-to-64`,
      title: 'A value may be nested 64 levels deep and no deeper',
      proves: ['GEN-4'],
      async run(bench) {
        const { agents } = bench.tenant;
        const [deepest, deeper] = [bench.id(), bench.id()];
        await carrier.save(agents, deepest, nestedTo(MAX_DEPTH));
        expectEqual<unknown>(await carrier.load(agents, deepest), nestedTo(MAX_DEPTH), '64 levels are returned');
        await expectCode('INVALID_PAYLOAD', '65 levels are refused', () =>
          carrier.save(agents, deeper, nestedTo(MAX_DEPTH + 1)),
        );
        await expectNothing(carrier, agents, deeper);
      },
    }),

    cases({
      id: `agents/payloads/${name}/large-up-to-the-limit`,
      title: 'A value may be as large as the limit the store declares, and no larger',
      proves: ['GEN-4', clause],
      async run(bench) {
        const { agents } = bench.tenant;
        const limitBytes = bench.store.info.limits[limit];
        const [large, larger] = [bench.id(), bench.id()];
        // Two bytes per letter, because a limit that counts characters would accept twice as much.
        const fits = { text: 'é'.repeat(limitBytes / 2 - 1_024) };
        await carrier.save(agents, large, fits);
        expect(
          ((await carrier.load(agents, large)) as typeof fits).text === fits.text,
          'a large value is returned unchanged',
        );
        const error = await expectCode('PAYLOAD_TOO_LARGE', 'more than the limit is refused', () =>
          carrier.save(agents, larger, { text: 'é'.repeat(limitBytes / 2) }),
        );
        expect(!error.retryable, 'the error is not retryable');
        await expectNothing(carrier, agents, larger);
      },
    }),
  ];
}

export const PAYLOAD_CASES = CARRIERS.flatMap(payloadCases);
