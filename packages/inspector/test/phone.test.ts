/** Every page on a phone: the pages and tabs are those that a reader can reach, found by following links. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PHONE, type Rig } from './browser.ts';
import { FAILED_RUN, TENANT } from './data.ts';
import { watchedPages } from './pages.ts';
import { startRunsRig } from './runs-rig.ts';
import { SESSION, writeSession } from './sessions-data.ts';
import { writeJobs, writeRecords } from './stores-data.ts';

/** Pages of one item, which lists open without a link. */
const ITEMS = [
  `/runs/${FAILED_RUN}?tenant=${TENANT}`,
  `/sessions/${SESSION}`,
  '/kv?key=config.limits',
  '/jobs?job=email-send/mail-2',
];
/** The number of views in the navigation. */
const VIEWS = 8;

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRunsRig();
  await writeSession(rig.store);
  await writeJobs(rig);
  await writeRecords(rig);
}, 120_000);
afterAll(() => rig?.stop());

/** Returns the texts that are cut off, in the page. Payload previews and command lines are cut by design. */
function clippedTexts(): string[] {
  return [...document.querySelectorAll('body *:not(.unseen, .summary, code)')]
    .filter((it) => it.scrollWidth > it.clientWidth + 1 && it.clientWidth > 0)
    .filter((it) => ['hidden', 'clip', 'auto'].includes(getComputedStyle(it).overflowX))
    .map((it) => `${it.tagName} ${it.className}: ${it.textContent}`);
}

/** Returns the addresses that the page links to, and those of its tabs, in the page. */
function linkedAddresses(): string[] {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('a[href^="/"]:not([target], [download])')];
  const tabs = [...document.querySelectorAll('[role=tab]')].map((tab) => {
    const address = new URL(location.href);
    address.searchParams.set('tab', tab.id.replace('tab-', ''));
    return address;
  });
  return [...links.map((link) => new URL(link.href)), ...tabs].map(({ pathname, search }) => pathname + search);
}

/** Returns what distinguishes one kind of page from another: the view, whether it shows an item, and its tab. */
function kindOf(address: string): string {
  const { pathname, searchParams } = new URL(address, rig.url);
  const [view = 'start', ...ids] = pathname.split('/').filter(Boolean);
  const item = ids.length > 0 || ['key', 'job'].some((name) => searchParams.has(name)) ? ' item' : '';
  return `${view}${item} ${searchParams.get('tab') ?? ''}`.trim();
}

async function settled(page: Page): Promise<void> {
  await page.locator('.loading, [aria-busy=true]').waitFor({ state: 'detached' });
  await page.waitForTimeout(300);
}

describe('on a phone', { timeout: 180_000 }, () => {
  it('no page cuts off text or is wider than the screen', async () => {
    const { page, visit } = await newPage({ viewport: PHONE, hasTouch: true });
    const waiting = ['/', ...ITEMS];
    const visited = new Set<string>();
    for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
      if (visited.has(kindOf(address)) || /^\/(?:v1|docs|openapi)/.test(address)) continue;
      visited.add(kindOf(address));
      await visit(address);
      await settled(page);
      expect.soft(await page.evaluate(clippedTexts), address).toEqual([]);
      expect.soft(await page.evaluate(() => document.documentElement.scrollWidth), address).toBe(PHONE.width);
      waiting.push(...(await page.evaluate(linkedAddresses)));
    }
    const kinds = [...visited];
    expect(new Set(kinds.map((kind) => kind.split(' ')[0])).size).toBe(VIEWS + 1);
    expect(kinds.filter((kind) => kind.startsWith('runs item ')).length).toBeGreaterThan(2);
    expect(kinds.filter((kind) => kind.startsWith('sessions item ')).length).toBeGreaterThan(5);
  });
});
