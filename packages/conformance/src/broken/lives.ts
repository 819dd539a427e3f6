/** Broken lives: writes of one life reach another, or two lives are not distinguished. */
import { isTidemarkError, type RunStore } from '@tidemark/core';
import { isTombstone } from '@tidemark/core/engine';
import { type BrokenStore, broken, brokenRuns } from './wrap.ts';

const RESTORED = { tenantId: '', runId: '', lastEventSeq: 0, restored: true };

/** Reports a restore as successful although the store refused it with this code. */
function restoringDespite(code: 'CONFLICT' | 'CORRUPT_EVENT'): (runs: RunStore) => Partial<RunStore> {
  return (runs) => ({
    restoreRun: (parts, options) =>
      runs
        .restoreRun(parts, options)
        .catch((error) => (isTidemarkError(error, code) ? RESTORED : Promise.reject(error))),
  });
}

export const BROKEN_LIVES: readonly BrokenStore[] = [
  broken('hides-the-life', 'does not say which life an event was stored in', 'runs/new-life-begins-at-one', {
    runs: (runs) => ({
      async appendEvents(events, options) {
        return (await runs.appendEvents(events, options)).map(({ life: _, ...result }) => result);
      },
    }),
  }),
  broken('guesses-the-life', 'appends to the current life when none is named', 'runs/appends-name-their-life', {
    runs: (runs) => ({
      async appendEvent(event, options) {
        const { tenantId } = event;
        const life = options?.life ?? (await runs.position(event.runId, { tenantId }))?.life;
        return runs.appendEvent(event, { ...options, ...(life === undefined ? {} : { life }) });
      },
    }),
  }),
  broken('ends-the-life-it-finds', 'begins a life of a live run', 'runs/new-life-only-after-deletion', {
    runs: (runs) => ({
      appendEvent: (event, options) =>
        runs.appendEvent(event, options).catch(async (error: unknown) => {
          if (options?.life !== 'new' || !isTidemarkError(error, 'CONFLICT')) throw error;
          await runs.deleteRun(event.runId, { tenantId: event.tenantId });
          return runs.appendEvent(event, options);
        }),
    }),
  }),
  broken('joins-a-new-life', 'lets every caller begin the life that one began', 'runs/one-caller-begins-a-life', {
    runs: (runs) => ({
      appendEvent: (event, options) =>
        runs.appendEvent(event, options).catch(async (error: unknown) => {
          if (options?.life !== 'new' || !isTidemarkError(error, 'CONFLICT')) throw error;
          const life = (await runs.position(event.runId, { tenantId: event.tenantId }))!.life!;
          return runs.appendEvent(event, { ...options, life });
        }),
    }),
  }),
  brokenRuns(
    'forgets-who-began',
    'leaves a tombstone that does not name the append that began the life',
    'runs/retried-beginning-begins-once',
    (runs) => ({ remove: (run, { begunBy: _, ...tombstone }, call) => runs.remove(run, tombstone, call) }),
  ),
  broken('feed-without-lives', 'yields feed items without their life', 'runs/lives-are-different-histories', {
    runs: (runs) => ({
      async feedPage(options) {
        const page = await runs.feedPage(options);
        return { ...page, items: page.items.map(({ life: _, ...item }) => item) };
      },
    }),
  }),
  broken('moves-lives', 'restores events of a life as another one', 'runs/life-is-part-of-the-first-link', {
    runs: restoringDespite('CORRUPT_EVENT'),
  }),
  broken('returns-to-ended-lives', 'restores a life that another one followed', 'runs/lives-are-carried', {
    runs: restoringDespite('CONFLICT'),
  }),
  broken('unbound-handles', 'gives handles that forget their life', 'runs/handles-bind-a-life', {
    runs: (runs) => ({
      handle: ((runId: string, { life: _, ...defaults } = {} as { life?: number }) =>
        runs.handle(runId, defaults)) as RunStore['handle'],
    }),
  }),
  broken('reads-across-lives', 'continues a read in the next life', 'runs/readers-stay-in-their-life', {
    runs: (runs) => ({
      async *readEvents(runId, options) {
        for (let afterSeq = options?.afterSeq ?? 0; ; ) {
          const events = await runs.fetchEvents(runId, { ...options, afterSeq });
          yield* events;
          if (events.length === 0) return;
          afterSeq = events.at(-1)!.runSeq;
        }
      },
    }),
  }),
  brokenRuns(
    'deletes-what-it-did-not-read',
    'removes a life that began after the run was read',
    'runs/stalled-delete-spares-later-lives',
    (runs) => ({ remove: (run, tombstone, { expectedRewrites: _, ...call }) => runs.remove(run, tombstone, call) }),
  ),
  brokenRuns(
    'moves-late-appends',
    'stores an append in the life that it finds',
    'runs/stalled-append-stays-in-its-life',
    (runs) => ({
      async append(appends, call) {
        const found = await Promise.all(appends.map(({ run }) => runs.head(run, call)));
        const moved = appends.map((append, at) => {
          const head = found[at]!;
          return head === null || isTombstone(head) || append.life === 'new' ? append : { ...append, life: head.life };
        });
        return runs.append(moved, call);
      },
    }),
  ),
];
