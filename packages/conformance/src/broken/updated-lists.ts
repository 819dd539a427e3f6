/** Broken lists by last update: another order, pages that lose runs that change, cursors of any list. */
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_UPDATED_LISTS: readonly BrokenStore[] = [
  broken('update-order-of-creation', 'lists by creation whatever the order', 'runs/list-by-update', {
    runs: (runs) => ({ listRuns: ({ orderBy: _, ...options } = {}) => runs.listRuns(options) }),
  }),
  broken(
    'update-pages-of-the-past',
    'leaves runs out of later pages that changed after the first one',
    'runs/list-by-update-beside-appends',
    () => {
      let until: string | undefined;
      return {
        runs: (runs) => ({
          async listRuns(options) {
            const page = await runs.listRuns(options);
            if (options?.cursor === undefined) {
              const [newest] = (await runs.listRuns({ orderBy: 'updatedAt', limit: 1 })).items;
              until = newest?.updatedAt;
            }
            return { ...page, items: page.items.filter(({ updatedAt }) => updatedAt <= until!) };
          },
        }),
      };
    },
  ),
  broken('update-cursors-of-any-list', 'begins again after a cursor of another list', 'runs/list-by-update-cursors', {
    runs: (runs) => ({
      listRuns: (options) =>
        runs.listRuns(options).catch((error) => {
          if (options?.cursor === undefined) throw error;
          const { cursor: _, ...rest } = options;
          return runs.listRuns(rest);
        }),
    }),
  }),
];
