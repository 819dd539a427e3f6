import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';
import { PHONE, picture, type Rig, startRig } from './browser.ts';
import {
  appendProgress,
  FAILED_RUN,
  LIVE_RUN,
  TENANT,
  writeFailedRun,
  writeHostileRun,
  writeLiveRun,
  writeManyRuns,
} from './data.ts';
import { watchedPages } from './pages.ts';

const RUN = `/runs/${FAILED_RUN}?tenant=${TENANT}`;

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRig();
  await writeManyRuns(rig, 90);
  await writeFailedRun(rig);
  await writeLiveRun(rig);
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

  it('looks for a text in ids, scopes and labels', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.keyboard.press('/');
    await page.keyboard.type('c-881');
    await page.keyboard.press('Enter');
    await page.getByText('1 run, 92 searched').waitFor();
    expect(await page.locator('.rows [role=row]').innerText()).toContain(FAILED_RUN);
  });

  it('says what to do where no run fits', async () => {
    const { page, visit } = await newPage();
    await visit('/runs?tenant=nobody', 'text=No run fits these filters');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await page.getByText('92 runs').waitFor();
  });

  it('goes through the list and opens a run by keys alone', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    for (const key of ['j', 'j', 'k', 'j', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: FAILED_RUN }).waitFor();
    await page.goBack();
    await page.getByText('92 runs').waitFor();
  });

  it('holds new runs back until they are asked for, and changes rows in place', async () => {
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

  it('leaves what is being typed alone when runs move on', async () => {
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

describe('a run', { timeout: 60_000 }, () => {
  it('opens at the failed step, with what it says beside the list', async () => {
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

  it('holds several events open side by side, and a link brings them back', async () => {
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
    await expect.poll(clipboard).toContain(`tidemark runs events ${FAILED_RUN} --tenant ${TENANT} --after 11`);
    for (const key of ['c', 'j']) await page.keyboard.press(key);
    await expect.poll(async () => JSON.parse(await clipboard()).runSeq).toBe(12);
  });

  it('filters and searches inside, with patterns too', async () => {
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

  it('follows what is written, and stops while it is paused', async () => {
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

  it('shows a redacted event as such', async () => {
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
    await page.getByText('The payload was taken out by privacy team').waitFor();
    expect(await page.locator('body').innerText()).not.toContain('4242');
    await runs.deleteRun('secret-1', { tenantId: TENANT });
  });

  it('draws each try of each step, with idle times cut short', async () => {
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
    await page.getByText('point at a value to see who wrote it').waitFor();
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
    await page.getByRole('button', { name: 'Let go' }).click();
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

  it('plays the state from the first event on', async () => {
    const { page, visit } = await newPage();
    await visit(`${RUN}&tab=state`, '.state-columns');
    // Each is shown for a moment only: what was there is noted where it cannot be missed.
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
    await page.getByText('The chain over 15 events holds').waitFor();
    await page.getByText('Log and stored snapshot agree at event 15').waitFor();
    await page.getByText('1 event did not fit the state they met').waitFor();
    const { head } = await rig.store.runs.verify(FAILED_RUN, { tenantId: TENANT });
    await page.getByText(head).waitFor();
    await expectAccessible(page);
    await picture(page, 'proof');
  });

  it('is exported as a file that the page opens again without the server', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('e')]);
    const path = await download.path();
    expect(download.suggestedFilename()).toBe(`${FAILED_RUN}.ndjson`);
    expect(readFileSync(path, 'utf8').trim().split('\n').length).toBe(15);

    await visit('/file', 'text=Open a run from a file');
    await expectAccessible(page);
    // Whatever asked for a run would be an error on the console; the count of things to attend to may still be looked for.
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
    await page.getByText('A file proves nothing by itself').waitFor();
  });

  it('shows where a sequence was never written', async () => {
    const { page, visit } = await newPage();
    const events = await rig.store.runs.fetchEvents(FAILED_RUN, { tenantId: TENANT });
    const lines = events.filter(({ runSeq }) => runSeq !== 4).map((event) => `${JSON.stringify(event)}\n`);
    await visit('/file', 'text=Open a run from a file');
    const file = { name: 'holed.ndjson', mimeType: '', buffer: Buffer.from(lines.join('')) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('row', { name: /^4 This sequence was never written/ }).waitFor();
  });

  it('says what is wrong with a file that is no run', async () => {
    const { page, visit } = await newPage();
    await visit('/file', 'text=Open a run from a file');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'x.ndjson', mimeType: '', buffer: Buffer.from('{"a":1}\n') });
    await page.getByText('A line of the file is no event of a run').waitFor();
  });

  it('tells that there is no such run', async () => {
    const { visit } = await newPage();
    await visit('/runs/nothing-here', 'text=There is no such run');
    await visit(`/runs/nothing-here?tenant=${TENANT}`, 'text=There is no such run');
  });

  it('finds its way where two tenants have a run of the same id', async () => {
    const { page, visit, faults } = await newPage();
    for (const tenantId of ['left', 'right'])
      await rig.store.runs.handle('twin', { tenantId }).append('RunStarted', { of: tenantId });
    await visit('/runs/twin', '[role=alert]');
    expect(await page.getByRole('alert').innerText()).toContain('tenant');
    // The browser itself writes a line for each answer that is a refusal.
    expect(faults.splice(0)).toEqual([expect.stringContaining('409')]);
    await visit('/runs/twin?tenant=right&open=1', '.card');
    await page.locator('.card .json-line', { hasText: 'of: "right"' }).first().waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await rig.store.runs.handle('twin', { tenantId: 'right' }).append('RunPaused');
    await page.getByRole('row', { name: /RunPaused/ }).waitFor();
  });
});

describe('everywhere', { timeout: 90_000 }, () => {
  it('jumps to any id from one box', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.keyboard.press('Control+k');
    await page.keyboard.type(`${FAILED_RUN}#7`);
    await page.getByRole('option', { name: /order-1042#7/ }).waitFor();
    await expectAccessible(page);
    await picture(page, 'jump');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: FAILED_RUN }).waitFor();
    expect(await page.locator('[aria-selected=true] [role=gridcell]').first().innerText()).toBe('7');
  });

  it('shows every shortcut on one sheet', async () => {
    const { page, visit } = await newPage();
    await visit(RUN, '.card');
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keyboard' });
    await sheet.getByText('next failure').waitFor();
    await sheet.getByText('go to runs').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    for (const key of ['g', 'r']) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
  });

  it('goes on after the server was gone for a while, without gap or repeat', async () => {
    const { page, visit, faults } = await newPage();
    await visit(`/runs/${LIVE_RUN}?tenant=${TENANT}`, '.rows [role=row]');
    await page.getByText('live', { exact: true }).waitFor();
    const head = await rig.store.runs.headSeq(LIVE_RUN, { tenantId: TENANT });
    await rig.restartServer(async () => {
      await page.getByText('reconnecting', { exact: true }).waitFor();
      await appendProgress(rig.store, LIVE_RUN, 3);
    });
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByText(`${head + 3} events`).waitFor();
    await page.getByRole('row', { name: new RegExp(`^${head + 3} `) }).waitFor();
    // The browser itself writes a line for each request that found no server.
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_')));
  });

  it('opens the stream anew when nothing is heard for too long', async () => {
    const { page, visit } = await newPage();
    let streams = 0;
    page.on('request', (request) => {
      if (request.url().includes('/v1/stream')) streams++;
    });
    await page.clock.install();
    await visit('/runs', '.rows [role=row]');
    await page.clock.runFor(1_000);
    await page.getByText('live', { exact: true }).waitFor();
    const before = streams;
    await page.clock.runFor(20_000);
    expect(streams).toBe(before);
    await page.clock.runFor(21_000);
    await expect.poll(() => streams).toBeGreaterThan(before);
    await page.getByText('live', { exact: true }).waitFor();
  });

  it('is as readable in the dark', async () => {
    const { page, visit } = await newPage({ colorScheme: 'dark' });
    for (const path of ['/runs', `${RUN}&tab=timeline`, `${RUN}&tab=state`, `${RUN}&tab=proof`]) {
      await visit(path, '.view');
      await page.waitForTimeout(300);
      await expectAccessible(page);
    }
    await visit(RUN, '.card');
    await expectAccessible(page);
    await picture(page, 'dark');
    await page.getByRole('button', { name: /Theme: system/ }).click();
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light');
  });

  it('works on a phone', async () => {
    const { page, visit } = await newPage({ viewport: PHONE, hasTouch: true });
    await visit('/runs', '.rows [role=row]');
    await expectAccessible(page);
    await page.getByRole('row', { name: new RegExp(FAILED_RUN) }).tap();
    await page.locator('.card').waitFor();
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    await picture(page, 'phone');
  });

  it('is kept from running anything by rules of its own', async () => {
    const response = await fetch(`${rig.url}/runs/some/where`, { headers: { accept: 'text/html' } });
    const rules = response.headers.get('content-security-policy');
    expect(rules).toContain("default-src 'none'");
    expect(rules).toContain("require-trusted-types-for 'script'");
    const { page, visit, faults } = await newPage();
    await visit('/runs', '.rows [role=row]');
    // Shows that a violation would be noticed.
    const stopped = await page.evaluate(() => {
      try {
        document.body.innerHTML = '<p>not by text</p>';
        return 'ran';
      } catch {
        return 'stopped';
      }
    });
    expect(stopped).toBe('stopped');
    await expect.poll(() => faults.some((fault) => fault.includes('require-trusted-types-for'))).toBe(true);
    faults.splice(0);
  });

  it('takes a run whose every field attacks for text', async () => {
    const runId = await writeHostileRun(rig);
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.getByRole('row', { name: /x<img/ }).click();
    await page.getByRole('heading', { level: 1, name: runId }).waitFor();
    await page.locator('.card').waitFor();
    await page.keyboard.press('Enter');
    const closed = page.locator('.card .json-toggle[aria-expanded=false]');
    while ((await closed.count()) > 0) await closed.first().click();
    await page.locator('.card details').first().click();
    await expectAccessible(page);
    for (const tab of ['2', '3', '4']) {
      await page.keyboard.press(tab);
      await page.waitForTimeout(400);
      await expectAccessible(page);
    }
    await page.keyboard.press('Control+k');
    await page.keyboard.type('x<img');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: runId }).waitFor();
  });
});
