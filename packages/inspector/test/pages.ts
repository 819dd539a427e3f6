/** The pages of one test: closed after it, and found to have done nothing they should not. */
import type { BrowserContextOptions } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { openPage, type Rig, type WatchedPage } from './browser.ts';

/** Opens pages of a rig for a test; after it they are closed, and none may have done what it should not. */
export function watchedPages(rig: () => Rig): (options?: BrowserContextOptions, at?: Rig) => Promise<WatchedPage> {
  const open: WatchedPage[] = [];
  afterEach(async () => {
    const pages = open.splice(0);
    await Promise.all(pages.map((page) => page.close()));
    expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
  });
  return async (options, at = rig()) => {
    const opened = await openPage(at, options);
    open.push(opened);
    return opened;
  };
}
