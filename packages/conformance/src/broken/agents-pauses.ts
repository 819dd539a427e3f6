/** Broken pauses and memory: the parts where a fault costs an approval or a conversation. */
import { isTidemarkError, type JsonObject, TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_PAUSE_STORES: readonly BrokenStore[] = [
  broken('revives-tokens', 'Saving a used token brings it back', 'agents/pauses/used-tokens-stay-used', {
    agents: (agents) => {
      const revived = new Map<string, JsonObject>();
      return {
        async savePlannerState(token, payload, options) {
          try {
            await agents.savePlannerState(token, payload, options);
          } catch (error) {
            if (!isTidemarkError(error, 'TOKEN_CONSUMED')) throw error;
            revived.set(token, payload);
          }
        },
        async loadPlannerState(token, options) {
          const loaded = await agents.loadPlannerState(token, options);
          const payload = revived.get(token);
          return Object.keys(loaded).length === 0 && payload && revived.delete(token) ? payload : loaded;
        },
      };
    },
  }),

  broken('peek-consumes', 'Peeking at a pause uses it up', 'agents/pauses/peek-does-not-consume', {
    agents: (agents) => ({
      async peekPause(token, options) {
        const info = await agents.peekPause(token, options);
        if (info) await agents.loadPlannerState(token);
        return info;
      },
    }),
  }),

  broken('two-loaders-win', 'A pause is looked at, then deleted, with a gap between', 'agents/pauses/one-loader-wins', {
    agents: (agents) => {
      const payloads = new Map<string, JsonObject>();
      return {
        async savePlannerState(token, payload, options) {
          await agents.savePlannerState(token, payload, options);
          payloads.set(token, structuredClone(payload));
        },
        async loadPlannerState(token, options) {
          const isWaiting = (await agents.peekPause(token))?.state === 'waiting';
          const loaded = await agents.loadPlannerState(token, options);
          const payload = payloads.get(token);
          return isWaiting && payload ? structuredClone(payload) : loaded;
        },
      };
    },
  }),

  broken(
    'pause-outlives-expiry',
    'A pause is there in the millisecond of its expiry',
    'agents/pauses/gone-at-its-millisecond',
    {
      agents: (agents) => ({
        savePlannerState: (token, payload, options) =>
          agents.savePlannerState(
            token,
            payload,
            typeof options?.ttl === 'number' ? { ...options, ttl: options.ttl + 1 } : options,
          ),
      }),
    },
  ),

  broken('load-without-retry', 'A load that is sent again gets {}', 'agents/pauses/retried-load-hears-again', {
    agents: (agents) => ({
      loadPlannerState: (token, options) => agents.loadPlannerState(token, { ...options, requestId: undefined }),
    }),
  }),

  broken(
    'claims-without-fence',
    'A claimer that lost its lease may confirm',
    'agents/pauses/lapsed-lease-goes-to-another',
    {
      agents: (agents) => ({
        async confirmPause(token, claimId, options) {
          try {
            await agents.confirmPause(token, claimId, options);
          } catch (error) {
            if (!isTidemarkError(error, 'CLAIM_LOST')) throw error;
          }
        },
      }),
    },
  ),

  broken('errors-show-tokens', 'An error shows the token', 'agents/pauses/tokens-are-never-shown', {
    agents: (agents) => ({
      async savePlannerState(token, payload, options) {
        try {
          await agents.savePlannerState(token, payload, options);
        } catch (error) {
          if (!isTidemarkError(error, 'TOKEN_CONSUMED')) throw error;
          throw new TidemarkError('TOKEN_CONSUMED', `The token ${token} was used already`);
        }
      },
    }),
  }),

  broken(
    'version-ignored',
    'expectedVersion is ignored: writers overwrite each other',
    'agents/memory/conditional-save',
    {
      agents: (agents) => ({
        saveMemoryState: (key, state, options) =>
          agents.saveMemoryState(key, state, { ...options, expectedVersion: undefined }),
      }),
    },
  ),

  broken(
    'carried-pause-lives-anew',
    'A pause that is carried over begins its life again',
    'general/admin-carries-pauses',
    {
      admin: (admin) => ({
        putPause: (pause, options) =>
          admin.putPause({ ...pause, expiresAt: new Date(Date.now() + 86_400_000).toISOString() }, options),
      }),
    },
  ),

  broken(
    'carried-pause-revives',
    'A pause that has expired on the way waits again',
    'general/admin-carries-no-dead-pauses',
    {
      admin: (admin) => ({
        putPause: (pause, options) => {
          const isOver = Date.parse(pause.expiresAt) < Date.now();
          return admin.putPause(isOver ? { ...pause, expiresAt: '2100-01-01T00:00:00.000Z' } : pause, options);
        },
      }),
    },
  ),

  broken(
    'delete-version-ignored',
    'A state that was saved since is deleted all the same',
    'agents/memory/deleted-at-a-version',
    {
      agents: (agents) => ({
        deleteMemoryState: (key, { expectedVersion: _, ...options } = {}) => agents.deleteMemoryState(key, options),
      }),
    },
  ),

  broken(
    'memory-request-ignored',
    'A save that is sent again counts twice',
    'agents/memory/retried-save-hears-the-same',
    {
      agents: (agents) => ({
        saveMemoryState: (key, state, options) =>
          agents.saveMemoryState(key, state, { ...options, requestId: undefined }),
      }),
    },
  ),

  broken(
    'memory-prefix-is-a-pattern',
    'A prefix is matched as a pattern of SQL LIKE',
    'agents/memory/listed-by-prefix-as-text',
    {
      agents: (agents) => ({
        async listMemory({ prefix = '', ...options } = {}) {
          const escaped = prefix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
          const pattern = new RegExp(`^${escaped.replaceAll('%', '.*').replaceAll('_', '.')}`, 's');
          const page = await agents.listMemory(options);
          return { ...page, items: page.items.filter((item) => pattern.test(item.key)) };
        },
      }),
    },
  ),

  broken('memory-drops-nul', 'NUL characters vanish from memory states', 'agents/payloads/memory/poison-comes-back', {
    agents: (agents) => ({
      saveMemoryState: (key, state, options) =>
        agents.saveMemoryState(key, JSON.parse(JSON.stringify(state).replaceAll('\\u0000', '')), options),
    }),
  }),

  broken(
    'memory-shares-objects',
    'The state that is read is the very object of the reader before',
    'agents/payloads/memory/copied-in-and-out',
    {
      agents: (agents) => {
        const read = new Map<string, { version: number; state: JsonObject }>();
        return {
          async loadMemoryState(key, options) {
            const record = await agents.getMemoryRecord(key, options);
            if (!record) return null;
            if (read.get(key)?.version !== record.version) read.set(key, record);
            return read.get(key)!.state;
          },
        };
      },
    },
  ),

  broken('memory-without-tenants', 'All tenants share one memory', 'agents/tenants/memory-is-its-tenants', {
    agents: (_, whole) => ({
      saveMemoryState: (key, state, options) => whole.agents.saveMemoryState(key, state, options),
      loadMemoryState: (key, options) => whole.agents.loadMemoryState(key, options),
    }),
  }),
];
