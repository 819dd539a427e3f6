/** Stored events that cannot be decoded: damage of any field is `CORRUPT_EVENT`, and other errors pass unchanged. */
import { describe, expect, it } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { StoredRunEvent } from '../engine/runs.ts';
import { memoryStore } from '../memory/store.ts';
import { withRuns } from '../store.ts';
import { StoreContext } from '../tools/context.ts';
import { damageIn, recordOf } from './prepare.ts';

const RUN = { tenantId: 'default', runId: 'r' };

async function stored(): Promise<StoredRunEvent> {
  const store = memoryStore();
  const events: StoredRunEvent[] = [];
  const { runs } = withRuns(store, (engine) => ({
    fetch: async (...args) => {
      const page = await engine.fetch(...args);
      events.push(...page.events);
      return page;
    },
  }))!;
  await runs.handle('r').append('Progress', { n: 1 }, { traceparent: 'trace' });
  await runs.fetchEvents('r');
  return events[0]!;
}

const { payloads } = new StoreContext();

describe('a stored event', () => {
  it('is returned with its payload and its extra fields', async () => {
    expect(recordOf(payloads, RUN, await stored())).toMatchObject({
      payload: { n: 1 },
      traceparent: 'trace',
      runSeq: 1,
    });
  });

  it.each([
    ['a payload that is not JSON', { payload: '{"n":' }],
    ['extra fields that are not JSON', { extra: '{"traceparent"' }],
    ['an impossible time', { persistedAt: 1e20 }],
    ['a redaction at an impossible time', { redaction: { payloadHash: '', at: Number.NaN, by: 'a', reason: 'b' } }],
  ])('with %s is damaged', async (_, damage) => {
    const event = { ...(await stored()), ...damage } as StoredRunEvent;
    const read = () => recordOf(payloads, RUN, event);
    expect(read).toThrow(expect.objectContaining({ code: 'CORRUPT_EVENT', runSeq: 1 }));
    expect(() => read()).toThrow(TidemarkError);
  });

  it('passes on errors that are not damage', async () => {
    const failing = new StoreContext({
      codec: {
        encrypts: false,
        formOf: () => 'plain',
        encode: (payload) => payload,
        decode: () => {
          throw new TypeError('a bug of the codec');
        },
      },
    });
    const event = await stored();
    expect(() => recordOf(failing.payloads, RUN, event)).toThrow('a bug of the codec');
    expect(damageIn(new TypeError('a bug'))).toBeNull();
    expect(damageIn(new TidemarkError('UNAVAILABLE', 'not now'))).toBeNull();
  });
});
