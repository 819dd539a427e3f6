/** Features of every view: jump dialog, shortcuts, live stream, dark theme, phone layout, security policy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';
import { PHONE, picture, type Rig } from './browser.ts';
import { appendProgress, FAILED_RUN, LIVE_RUN, TENANT, writeHostileRun } from './data.ts';
import { watchedPages } from './pages.ts';
import { startRunsRig } from './runs-rig.ts';

const RUN = `/runs/${FAILED_RUN}?tenant=${TENANT}`;

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRunsRig();
}, 120_000);
afterAll(() => rig?.stop());

describe('everywhere', { timeout: 90_000 }, () => {
  it('jumps to any id from one dialog', async () => {
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

  it('lists all shortcuts', async () => {
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

  it('resumes after a server restart without gaps or repeats', async () => {
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
    // The browser logs an error for each request made while the server was down.
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_')));
  });

  it('shows since when a dead server has not answered, and recovers on every page without a reload', async () => {
    const { page, visit, faults } = await newPage();
    const jobs = await newPage();
    await visit('/runs', '.rows [role=row]');
    await jobs.visit('/artifacts');
    await rig.restartServer(async () => {
      await page
        .getByRole('alert')
        .getByText(/not answered since \d\d:\d\d:\d\d/)
        .waitFor();
      await expectAccessible(page);
      await picture(page, 'outage');
      // This view has no live stream, so it learns of the outage when it asks for data.
      await jobs.page.getByRole('link', { name: 'Jobs' }).click();
      await jobs.page.locator('.outage').waitFor();
      await jobs.page.getByRole('button', { name: 'Try again' }).first().waitFor();
      await appendProgress(rig.store, LIVE_RUN, 1);
    });
    for (const it of [page, jobs.page]) await it.locator('.outage').waitFor({ state: 'detached' });
    await page.getByText('live', { exact: true }).waitFor();
    await jobs.page.getByText('The server does not answer').waitFor({ state: 'detached' });
    for (const all of [faults, jobs.faults])
      all.splice(0, all.length, ...all.filter((it) => !it.includes('net::ERR_')));
  });

  it('reopens the stream after a long silence', async () => {
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

  it('is accessible in the dark theme', async () => {
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

  it('is protected by a content security policy', async () => {
    const response = await fetch(`${rig.url}/runs/some/where`, { headers: { accept: 'text/html' } });
    const rules = response.headers.get('content-security-policy');
    expect(rules).toContain("default-src 'none'");
    expect(rules).toContain("require-trusted-types-for 'script'");
    const { page, visit, faults } = await newPage();
    await visit('/runs', '.rows [role=row]');
    // Proves that a violation would be detected.
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

  it('shows a run with an attack in every field as text', async () => {
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
