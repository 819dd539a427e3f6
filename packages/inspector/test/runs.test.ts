/** The list of runs: filters, keys and live updates. */

import { memoryStore } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';
import { picture, type Rig } from './browser.ts';
import { appendProgress, FAILED_RUN, LIVE_RUN, TENANT } from './data.ts';
import { watchedPages } from './pages.ts';
import { startRunsRig } from './runs-rig.ts';

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRunsRig();
}, 120_000);
afterAll(() => rig?.stop());

describe('runs', { timeout: 60_000 }, () => {
  it('lists runs, newest first, with a count per status', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '[role=grid] .rows [role=row]');
    expect(await page.locator('.rows [role=row]').first().innerText()).toContain(LIVE_RUN);
    await expect.poll(() => page.locator('.status-bar').innerText()).toMatch(/failed\s+16/);
    await page.getByText('92 runs').waitFor();
    await expectAccessible(page);
    await picture(page, 'runs');
  });

  it('shows how to write the first event into an empty store, and then shows its run without a reload', async () => {
    await using store = memoryStore();
    const server = createServer({ store, inspector: rig.built });
    const url = await server.listen();
    try {
      const { page, visit, close } = await newPage({}, { ...rig, url });
      await visit('/runs', 'text=No runs yet');
      await page.getByText(`await open('${url}')`).waitFor();
      await expectAccessible(page);
      await page.getByText('live', { exact: true }).waitFor();
      await store.runs.handle('order-42').append('RunStarted', { by: 'ada' });
      await page.getByRole('row', { name: /order-42/ }).waitFor();
      // A page that outlives its server records its failed requests as faults.
      await close();
    } finally {
      await server.close();
    }
  });

  it('keeps its filters in the address', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.getByRole('button', { name: /paused/ }).click();
    await page.getByPlaceholder('Plan', { exact: true }).fill('refund');
    await page.getByPlaceholder('Plan', { exact: true }).press('Enter');
    await page.getByText(/^3 runs$/).waitFor();
    expect(page.url()).toContain('status=PAUSED&plan=refund');
    await page.reload();
    await page.getByText(/^3 runs$/).waitFor();
    await page.keyboard.press('x');
    await page.getByText('92 runs').waitFor();
  });

  it('searches ids, scopes and labels', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.keyboard.press('/');
    await page.keyboard.type('c-881');
    await page.keyboard.press('Enter');
    await page.getByText('1 run, 92 searched').waitFor();
    expect(await page.locator('.rows [role=row]').innerText()).toContain(FAILED_RUN);
  });

  it('offers to clear the filters when no run matches', async () => {
    const { page, visit } = await newPage();
    await visit('/runs?tenant=nobody', 'text=No run matches these filters');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await page.getByText('92 runs').waitFor();
  });

  it('navigates the list and opens a run with the keyboard', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    for (const key of ['j', 'j', 'k', 'j', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: FAILED_RUN }).waitFor();
    await page.goBack();
    await page.getByText('92 runs').waitFor();
  });

  it('shows new runs on request, and updates rows in place', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.getByText('live', { exact: true }).waitFor();
    const firstRow = page.locator('.rows [role=row]').first();
    await rig.store.runs.handle('new-1', { tenantId: TENANT }).append('RunStarted');
    await appendProgress(rig.store, LIVE_RUN, 3);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    await expect.poll(() => firstRow.innerText()).toMatch(/research-7[\s\S]*\n7\n/);
    await page.keyboard.press('n');
    await expect.poll(() => firstRow.innerText()).toContain('new-1');
    await rig.store.runs.deleteRun('new-1', { tenantId: TENANT });
  });

  it('keeps typed text when runs change', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.getByText('live', { exact: true }).waitFor();
    const plan = page.getByPlaceholder('Plan', { exact: true });
    await plan.fill('refu');
    await appendProgress(rig.store, LIVE_RUN, 1);
    const events = await rig.store.runs.headSeq(LIVE_RUN, { tenantId: TENANT });
    await expect
      .poll(() => page.locator('.rows [role=row]').first().innerText())
      .toMatch(new RegExp(`research-7[\\s\\S]*\\n${events}\\n`));
    expect(await plan.inputValue()).toBe('refu');
    await plan.pressSequentially('nd');
    await plan.press('Enter');
    await page.getByText(/^18 runs$/).waitFor();
    expect(await plan.inputValue()).toBe('refund');
  });
});
