/** Sessions in a store that encrypts. */
import { testSealing } from '../../../scripts/adapters/sealed.ts';
import { TidemarkSession } from '../src/index.ts';
import { message } from './items.ts';

const SECRETS = ['item-secret', 'large-secret', 'transaction-secret'];

testSealing(SECRETS, async (store) => {
  const session = new TidemarkSession(store, { sessionId: 'chat-7' });
  await session.addItems([message('item-secret'), message(`large-secret ${'x'.repeat(600_000)}`)]);
  await session.applyHistoryTransaction({
    operationId: 'turn-1',
    transaction: { type: 'append_items', items: [message('transaction-secret')] },
  });
  return {
    read: async () => JSON.stringify(await new TidemarkSession(store, { sessionId: 'chat-7' }).getItems()),
  };
});
