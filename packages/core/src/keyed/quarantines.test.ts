/** A release names the quarantine it was decided on, and has no effect on any other (RUN-20). */
import { expect, it } from 'vitest';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { KeyedQuarantines } from './quarantines.ts';

const CALL = {};
const RUN = { tenantId: 'acme', runId: 'r' };
const DAMAGE = { fromSeq: 5, reason: 'its leaf does not match', at: 1 };

it('does not release when the damage begins earlier than seen, nor a second time', async () => {
  const quarantines = new KeyedQuarantines(memoryRecords(new StoreContext()));
  const { entry: seen } = await quarantines.put(RUN, DAMAGE, CALL);
  const { entry: earlier } = await quarantines.put(RUN, { ...DAMAGE, fromSeq: 3 }, CALL);
  expect(await quarantines.release(seen, CALL)).toBeNull();
  expect(await quarantines.find(RUN, CALL)).toMatchObject({ fromSeq: 3, state: 'quarantined' });
  expect(await quarantines.release(earlier, CALL)).toMatchObject({ state: 'released', release: 1 });
  expect(await quarantines.release(earlier, CALL)).toBeNull();
  expect(await quarantines.find(RUN, CALL)).toMatchObject({ release: 1 });
});
