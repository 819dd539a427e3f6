import type { BrowserContextOptions } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { openPage, type Rig, type WatchedPage } from './browser.ts';

/** Opens pages for a test. Closes them after it, and fails if they recorded faults. */
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
