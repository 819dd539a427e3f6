/** Broken pauses and memory: faults that lose approvals or conversations. */
import { isTidemarkError, type JsonObject, TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_PAUSE_STORES: readonly BrokenStore[] = [
  broken('revives-tokens', 'revives a used token when it is saved again', 'agents/pauses/used-tokens-stay-used', {
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

  broken('peek-consumes', 'consumes a pause when it is peeked at', 'agents/pauses/peek-does-not-consume', {
    agents: (agents) => ({
      async peekPause(token, options) {
        const info = await agents.peekPause(token, options);
        if (info) await agents.loadPlannerState(token);
        return info;
      },
    }),
  }),

  broken('two-loaders-win', 'reads a pause and deletes it in two steps', 'agents/pauses/one-loader-wins', {
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
    'returns a pause in the millisecond of its expiry',
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

  broken('load-without-retry', 'returns {} when a load is retried', 'agents/pauses/retried-load-hears-again', {
    agents: (agents) => ({
      loadPlannerState: (token, options) => agents.loadPlannerState(token, { ...options, requestId: undefined }),
    }),
  }),

  broken(
    'claims-without-fence',
    'lets a claimer confirm after its lease expired',
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

  broken('errors-show-tokens', 'shows the token in an error', 'agents/pauses/tokens-are-never-shown', {
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
    'ignores expectedVersion, so that writers overwrite each other',
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
    'gives a pause put by an operator a new lifetime',
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
    'revives an expired pause when an operator puts it',
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

  broken('delete-version-ignored', 'deletes a state that was saved since', 'agents/memory/deleted-at-a-version', {
    agents: (agents) => ({
      deleteMemoryState: (key, { expectedVersion: _, ...options } = {}) => agents.deleteMemoryState(key, options),
    }),
  }),

  broken('memory-request-ignored', 'counts a retried save twice', 'agents/memory/retried-save-hears-the-same', {
    agents: (agents) => ({
      saveMemoryState: (key, state, options) =>
        agents.saveMemoryState(key, state, { ...options, requestId: undefined }),
    }),
  }),

  broken(
    'memory-prefix-is-a-pattern',
    'matches a prefix as an SQL LIKE pattern',
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

  broken('memory-drops-nul', 'drops NUL characters from memory states', 'agents/payloads/memory/poison-comes-back', {
    agents: (agents) => ({
      saveMemoryState: (key, state, options) =>
        agents.saveMemoryState(key, JSON.parse(JSON.stringify(state).replaceAll('\\u0000', '')), options),
    }),
  }),

  broken(
    'memory-shares-objects',
    'returns the same state object to every reader',
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

  broken('memory-without-tenants', 'shares one memory between all tenants', 'agents/tenants/memory-is-its-tenants', {
    agents: (_, whole) => ({
      saveMemoryState: (key, state, options) => whole.agents.saveMemoryState(key, state, options),
      loadMemoryState: (key, options) => whole.agents.loadMemoryState(key, options),
    }),
  }),
];
