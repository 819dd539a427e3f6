/** Sessions in a store that encrypts. */
import { testSealing } from '../../../scripts/adapters/sealed.ts';
import { TidemarkSessionStore } from '../src/index.ts';
import { SESSION } from './entries.ts';

const SECRETS = ['first-prompt', 'large-secret', 'title-secret'];

testSealing(SECRETS, async (store) => {
  const sessions = new TidemarkSessionStore(store);
  const user = { type: 'user', uuid: 'a', message: { role: 'user', content: 'first-prompt' } };
  const large = { type: 'user', uuid: 'b', message: { role: 'user', content: `large-secret ${'x'.repeat(600_000)}` } };
  await sessions.append(SESSION, [user, large, { type: 'custom-title', uuid: 'c', customTitle: 'title-secret' }]);
  return {
    async read() {
      const again = new TidemarkSessionStore(store);
      const summaries = await again.listSessionSummaries(SESSION.projectKey);
      return JSON.stringify([await again.load(SESSION), summaries]);
    },
  };
});
