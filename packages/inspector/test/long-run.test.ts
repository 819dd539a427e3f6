import { createServer } from '@tidemark/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPage, type Rig, startRig, type WatchedPage } from './browser.ts';
import { TENANT, writeLongRun } from './data.ts';
import { watchedPages } from './pages.ts';

const EVENTS = 20_000;
const RUN = `/runs/etl-nightly?tenant=${TENANT}&open=none`;
/** The maximum number of elements on the page, for a run of any length. */
const MAX_ELEMENTS = 1_500;

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRig();
  await writeLongRun(rig, 'etl-nightly', EVENTS);
}, 120_000);
afterAll(() => rig?.stop());

/** A rendered row may be outside the visible part of its list. */
async function expectInView(page: WatchedPage['page'], name: RegExp): Promise<void> {
  const bottomOf = async (locator: ReturnType<typeof page.locator>) => {
    const box = await locator.boundingBox();
    return box ? box.y + box.height : Number.NaN;
  };
  const isInView = async () =>
    (await bottomOf(page.getByRole('row', { name }))) <= (await bottomOf(page.getByRole('grid')));
  await expect.poll(isInView, { timeout: 8_000 }).toBe(true);
}

describe('a run of 20 000 events', { timeout: 60_000 }, () => {
  it('opens at its end and keeps few elements at any scroll position', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, 'text=OUT_OF_SPACE');
    await expectInView(page, /^20,000 /);
    const elements = () => page.locator('*').count();
    expect(await elements()).toBeLessThan(MAX_ELEMENTS);
    await page.getByRole('grid').hover();
    for (let wheel = 0; wheel < 12; wheel++) await page.mouse.wheel(0, -20_000);
    // Wheel scrolling continues for a while after its last event, and would move the list.
    const scrollToMiddle = async () => {
      await page.getByRole('grid').evaluate((grid) => {
        grid.scrollTop = grid.scrollHeight / 2;
      });
      return page.getByRole('row', { name: /^10,000 .*RowsCopied/ }).isVisible();
    };
    await expect.poll(scrollToMiddle, { interval: 200 }).toBe(true);
    expect(await elements()).toBeLessThan(MAX_ELEMENTS);
    await page.keyboard.press('G');
    await expectInView(page, /^20,000 /);
  });

  it('can be linked to at any event', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&seq=12345`, '.rows [role=row]');
    await expectInView(page, /^12,345 /);
    await page.keyboard.press('.');
    await page.getByRole('heading', { name: '#20000 RunFailed' }).waitFor();
  });

  it('is searched to its end, page by page', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&q=c15042`, 'text=1 found');
    // The one row is a placeholder until its event is read.
    await expect
      .poll(() => page.locator('.rows [role=row]').allInnerTexts())
      .toEqual([expect.stringContaining('15,042')]);
  });

  it('has a timeline, and a state at any point with the event that wrote each value', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&tab=timeline`, '.bar');
    await page.getByText('200 tries').waitFor();
    expect(await page.locator('.bar').count()).toBeLessThan(60);
    await visit(`${RUN}&tab=state&at=11002`, 'text=State after event 11,002');
    await page.getByText('point at a value to see which event wrote it').waitFor();
    expect(await page.locator('.changes').innerText()).toContain('partition-00110');
  });
});

describe('a server that asks for a key', { timeout: 60_000 }, () => {
  it('shows nothing until the reader enters it', async () => {
    const server = createServer({
      store: rig.store,
      inspector: rig.built,
      auth: {
        loopbackOnly: true,
        authenticate: ({ headers }) =>
          headers.authorization === 'Bearer let-me-in'
            ? { id: 'tester', tenantId: null, scopes: ['read'] }
            : { refused: 'unknown', message: 'Who asks?' },
      },
    });
    const locked = await openPage({ ...rig, url: await server.listen() });
    try {
      await locked.visit('/runs', 'text=This server asks for a key');
      await locked.page.getByLabel('Key or token').fill('let-me-in');
      await locked.page.keyboard.press('Enter');
      await locked.page.getByText('1 run', { exact: true }).waitFor();
      await locked.page.getByText('live', { exact: true }).waitFor();
      // The browser logs an error for each refused request.
      expect(locked.faults.filter((fault) => !/status of 40[13]/.test(fault))).toEqual([]);
    } finally {
      await locked.close();
      await server.close();
    }
  });
});
