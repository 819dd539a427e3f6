/** One run: events, timeline, state over time, proof and file. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';
import { picture, type Rig } from './browser.ts';
import { appendProgress, FAILED_RUN, LIVE_RUN, TENANT } from './data.ts';
import { watchedPages } from './pages.ts';
import { startRunsRig } from './runs-rig.ts';

const RUN = `/runs/${FAILED_RUN}?tenant=${TENANT}`;

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRunsRig();
}, 120_000);
afterAll(() => rig?.stop());

describe('a run', { timeout: 60_000 }, () => {
  it('opens at the failed step, with its details next to the list', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    expect(await page.locator('.card h2').innerText()).toBe('#12 StepFailed');
    await page.getByText('insufficient funds for 1299.00 EUR').last().waitFor();
    expect(await page.locator('[aria-selected=true] [role=gridcell]').first().innerText()).toBe('12');
    await page.getByText('invalid', { exact: true }).waitFor();
    await page.getByText('+8.4 s').waitFor();
    await expectAccessible(page);
    await picture(page, 'failed-step');
  });

  it('shows how long after the first each event was stored, and its payload in one line, even next to opened events', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    const cells = (type: string) =>
      page.getByRole('row', { name: new RegExp(type) }).locator('[role=gridcell]:visible');
    await expect.poll(() => cells('RunQueued').nth(1).innerText()).toBe('+0 ms');
    expect(await cells('StockSeen').nth(1).innerText()).toMatch(/^\+[\d.]+ (m?s)$/);
    expect(await cells('StockSeen').allInnerTexts()).toContainEqual(expect.stringContaining('warehouse'));
  });

  it('keeps several events open, even after a reload', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    await page.getByRole('row', { name: /StockSeen/ }).click();
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.locator('.card').nth(2).waitFor();
    expect(await page.locator('.card h2').allInnerTexts()).toEqual([
      '#3 StepStarted',
      '#4 StockSeen',
      '#12 StepFailed',
    ]);
    await page.reload();
    await page.locator('.card').nth(2).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.card').first().waitFor({ state: 'detached' });
  });

  it('copies a value, its path, the event, a curl line and a command line', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    const line = page.locator('.card .json-line', { hasText: 'errorCode' });
    await line.hover();
    await line.getByRole('button', { name: 'value' }).click();
    await expect.poll(clipboard).toBe('CARD_DECLINED');
    await line.getByRole('button', { name: 'path' }).click();
    await expect.poll(clipboard).toBe('/errorCode');
    await page.getByRole('button', { name: 'curl' }).click();
    await expect.poll(clipboard).toBe(`curl '${rig.url}/v1/runs/${FAILED_RUN}/events/12?tenantId=${TENANT}'`);
    await page.getByRole('button', { name: 'CLI', exact: true }).click();
    await expect.poll(clipboard).toContain(`tidemark runs events ${FAILED_RUN} --tenant ${TENANT} --after-seq 11`);
    for (const key of ['c', 'j']) await page.keyboard.press(key);
    await expect.poll(async () => JSON.parse(await clipboard()).runSeq).toBe(12);
  });

  it('filters and searches events by text and pattern', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.rows [role=row]');
    const rows = page.locator('.rows [role=row]');
    await page.getByRole('button', { name: 'Failures' }).click();
    await page.getByText('3 found').waitFor();
    await expect.poll(() => rows.count()).toBe(3);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByPlaceholder('Text, or /pattern/').fill('/insufficient|over the limit/');
    await page.keyboard.press('Enter');
    await page.getByText('2 found').waitFor();
    expect(page.url()).toContain('q=%2Finsufficient');
    await page.getByPlaceholder('Text, or /pattern/').fill('/(/');
    await page.keyboard.press('Enter');
    await page.getByText(/Invalid regular expression/).waitFor();
  });

  it('shows new events live, except while paused', async () => {
    const { page, visit } = await newPage();
    await visit(`/runs/${LIVE_RUN}?tenant=${TENANT}`, '.rows [role=row]');
    await page.getByText('live', { exact: true }).waitFor();
    const seqs = () => page.locator('.rows [role=row] [role=gridcell]:first-child').allInnerTexts();
    const before = (await seqs()).length;
    await appendProgress(rig.store, LIVE_RUN, 2);
    await expect.poll(async () => (await seqs()).length).toBe(before + 2);
    await page.keyboard.press('l');
    await page.getByText('paused', { exact: true }).waitFor();
    await appendProgress(rig.store, LIVE_RUN, 2);
    await page.waitForTimeout(500);
    expect((await seqs()).length).toBe(before + 2);
    await page.keyboard.press('l');
    await expect.poll(async () => (await seqs()).length).toBe(before + 4);
    expect(new Set(await seqs()).size).toBe(before + 4);
  });

  it('shows that an event was redacted', async () => {
    const { page, visit } = await newPage();
    const runs = rig.store.runs;
    const { runSeq } = await runs
      .handle('secret-1', { tenantId: TENANT })
      .append('RunStarted', { card: '4242424242424242' });
    await runs.redactEvent('secret-1', runSeq, {
      tenantId: TENANT,
      by: 'privacy team',
      reason: 'asked by the customer',
    });
    await visit(`/runs/secret-1?tenant=${TENANT}&open=1`, '.card');
    await page.getByText('The payload was redacted by privacy team').waitFor();
    expect(await page.locator('body').innerText()).not.toContain('4242');
    await runs.deleteRun('secret-1', { tenantId: TENANT });
  });

  it('draws each attempt of each step, with idle times shortened', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&tab=timeline`, '.bar');
    await expect.poll(() => page.locator('.bar').count()).toBe(5);
    const widthOf = async (title: RegExp) => (await page.getByTitle(title).boundingBox())?.width ?? 0;
    expect(await widthOf(/^paused, try 1/)).toBeLessThan(60);
    expect(await widthOf(/^charge, try 2: failed/)).toBeGreaterThan(100);
    await expectAccessible(page);
    await picture(page, 'timeline');
    await page.keyboard.press('i');
    await expect.poll(() => widthOf(/^paused, try 1/)).toBeGreaterThan(500);
    await page.getByTitle(/^charge, try 2: failed/).click({ force: true });
    await page.getByRole('heading', { name: '#10 StepStarted' }).waitFor();
  });

  it('shows the state after any event, what changed, and which event wrote a value', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&tab=state&at=12`, '.state-columns');
    await page.getByText('State after event 12').waitFor();
    expect(await page.locator('.changes').innerText()).toMatch(/\/steps\/1\/status\s+"RUNNING"\s+"FAILED"/);
    await page.getByText('point at a value to see which event wrote it').waitFor();
    await page.locator('.state-tab .json-line', { hasText: 'insufficient funds' }).hover();
    await expect
      .poll(() => page.locator('.blame').innerText())
      .toMatch(/\/steps\/1\/error\/message[\s\S]*#12[\s\S]*StepFailed/);
    await expectAccessible(page);
    await picture(page, 'state', { keepsPointer: true });
    await page.locator('.state-tab .changed .json-line', { hasText: 'status: "FAILED"' }).click();
    await page.locator('.state-tab .json-line', { hasText: 'tenantId' }).hover();
    await page.getByRole('button', { name: 'And before that?' }).click();
    await page.getByRole('button', { name: 'And before that?' }).click();
    await expect
      .poll(() => page.locator('.blame').innerText())
      .toMatch(/\/steps\/1\/status[\s\S]*#12[\s\S]*#10[\s\S]*#7/);
    await page.getByRole('button', { name: 'Unpin' }).click();
    await page.locator('.state-tab .json-line', { hasText: 'insufficient funds' }).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '#12 StepFailed' }).waitFor();
    await page.goBack();
    await page.getByText('State after event 12').waitFor();
    await page.keyboard.press('[');
    await page.getByText('State after event 11').waitFor();
    expect(page.url()).toContain('at=11');
    await page.keyboard.press('m');
    await page.getByRole('slider').fill('15');
    await page.getByText('State after event 15').waitFor();
    expect(await page.locator('.changes').innerText()).toMatch(/\/status\s+"RUNNING"\s+"FAILED"/);
    await page.locator('.blame').waitFor();
  });

  it('plays the state from the first event', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&tab=state`, '.state-columns');
    // Each state is shown only briefly, so an observer in the page records them.
    const shown = await page.evaluateHandle(() => {
      const seen: string[] = [];
      new MutationObserver(() => {
        const at = /State after event (\d+)/.exec(document.body.innerText)?.[1];
        if (at !== undefined && seen.at(-1) !== at) seen.push(at);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
      return seen;
    });
    await page.keyboard.press('p');
    await expect.poll(async () => (await shown.jsonValue()).join(' ')).toMatch(/(^| )1 2 3\b/);
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Play' }).waitFor();
  });

  it('proves the chain and the stored snapshot', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&tab=proof`, '.verdict');
    await page.getByText('The hash chain over 15 events is valid').waitFor();
    await page.getByText('Log and stored snapshot agree at event 15').waitFor();
    await page.getByText('Invalid transitions: 1').waitFor();
    const { head } = await rig.store.runs.verify(FAILED_RUN, { tenantId: TENANT });
    await page.getByText(head).waitFor();
    await expectAccessible(page);
    await page.getByText('No checkpoint yet').waitFor();
    await rig.writeCheckpoint();
    await page.reload();
    await page.getByText('Checkpoint 1 covers all 15 events').waitFor();
    await expectAccessible(page);
    await picture(page, 'proof');
  });

  it('shows how much of a run the last checkpoint covers', async () => {
    const { page, visit } = await newPage();
    const run = rig.store.forTenant(TENANT).runs.handle('checked-1');
    await run.append('RunStarted');
    await rig.writeCheckpoint();
    await run.append('Progress');
    await rig.store.forTenant(TENANT).runs.handle('unchecked-1').append('RunStarted');
    await visit(`/runs/checked-1?tenant=${TENANT}&tab=proof`, '.verdict');
    await page.getByText(/Checkpoint \d covers 1 of 2 events/).waitFor();
    await visit(`/runs/unchecked-1?tenant=${TENANT}&tab=proof`, '.verdict');
    await page.getByText(/Checkpoint \d does not cover this run/).waitFor();
    await expectAccessible(page);
  });

  it('is exported as a file that the page opens without the server', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('e')]);
    const path = await download.path();
    expect(download.suggestedFilename()).toBe(`${FAILED_RUN}.ndjson`);
    expect(readFileSync(path, 'utf8').trim().split('\n').length).toBe(15);

    await visit('/file', 'text=Open a run from a file');
    await expectAccessible(page);
    // A request for a run would log an error; other requests, such as the attention count, are allowed.
    await page.route('**/v1/runs/*/**', (route) => route.abort());
    await page.locator('input[type=file]').setInputFiles(path);
    await page.getByText('from a file, read only').waitFor();
    expect(await page.locator('.card h2').innerText()).toBe('#12 StepFailed');
    await page.keyboard.press('3');
    await page.getByText('State after event 15').waitFor();
    await page.locator('.state-tab .json-line', { hasText: 'PAYMENT_FAILED' }).hover();
    await expect.poll(() => page.locator('.blame').innerText()).toContain('RunFailed');
    await page.keyboard.press('2');
    await expect.poll(() => page.locator('.bar').count()).toBe(5);
    await page.keyboard.press('4');
    await page.getByText('A file cannot be verified by itself').waitFor();
  });

  it('shows sequences that were never written', async () => {
    const { page, visit } = await newPage();
    const events = await rig.store.runs.fetchEvents(FAILED_RUN, { tenantId: TENANT });
    const lines = events.filter(({ runSeq }) => runSeq !== 4).map((event) => `${JSON.stringify(event)}\n`);
    await visit('/file', 'text=Open a run from a file');
    const file = { name: 'holed.ndjson', mimeType: '', buffer: Buffer.from(lines.join('')) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('row', { name: /^4 This sequence was never written/ }).waitFor();
  });

  it('rejects a file that is not a run', async () => {
    const { page, visit } = await newPage();
    await visit('/file', 'text=Open a run from a file');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'x.ndjson', mimeType: '', buffer: Buffer.from('{"a":1}\n') });
    await page.getByText('A line of the file is not an event of a run').waitFor();
  });

  it('reports a missing run', async () => {
    const { visit } = await newPage();
    await visit('/runs/nothing-here', 'text=There is no such run');
    await visit(`/runs/nothing-here?tenant=${TENANT}`, 'text=There is no such run');
  });

  it('needs the tenant if two tenants have a run with the same id', async () => {
    const { page, visit, faults } = await newPage();
    for (const tenantId of ['left', 'right'])
      await rig.store.runs.handle('twin', { tenantId }).append('RunStarted', { of: tenantId });
    await visit('/runs/twin', '[role=alert]');
    expect(await page.getByRole('alert').innerText()).toContain('tenant');
    // The browser logs an error for each refused request.
    expect(faults.splice(0)).toEqual([expect.stringContaining('409')]);
    await visit('/runs/twin?tenant=right&open=1', '.card');
    await page.locator('.card .json-line', { hasText: 'of: "right"' }).first().waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await rig.store.runs.handle('twin', { tenantId: 'right' }).append('RunPaused');
    await page.getByRole('row', { name: /RunPaused/ }).waitFor();
  });
});
