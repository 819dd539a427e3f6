import { memoryStore } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';
import { PHONE, picture, type Rig, startRig } from './browser.ts';
import { ATTACKS } from './data.ts';
import { watchedPages } from './pages.ts';
import {
  DEAD_JOB,
  HOSTILE_KEY,
  STUCK_JOB,
  writeHostileRecords,
  writeJobs,
  writeManyRecords,
  writeRecords,
} from './stores-data.ts';

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRig();
}, 120_000);
afterAll(() => rig?.stop());

const textOf = async (key: string, field: string) => {
  const record = await rig.store.kv.get(key);
  return record?.fields[field] === undefined ? undefined : Buffer.from(record.fields[field]).toString();
};

describe('an empty store', { timeout: 60_000 }, () => {
  it('shows how to write the first record, job and artifact', async () => {
    const { page, visit } = await newPage();
    await visit('/kv', 'text=tidemark kv put config.limits');
    await expectAccessible(page);
    await visit('/jobs', 'text=tidemark jobs add');
    await expectAccessible(page);
    await visit('/artifacts', 'text=tidemark artifacts put');
    await visit('/attention', 'text=No problems found');
    await expectAccessible(page);
    await visit('/', 'text=No runs yet');
  });
});

describe('records', { timeout: 60_000 }, () => {
  beforeAll(() => writeRecords(rig));

  it('are shown as a tree of their names, with counts', async () => {
    const { page, visit } = await newPage();
    await visit('/kv', '.rows [role=row]');
    await page.getByText('7 records').waitFor();
    await page.getByRole('row', { name: /config\./ }).click();
    await page.getByRole('row', { name: /regions\./ }).click();
    await page.getByRole('row', { name: 'eu', exact: true }).click();
    await page.getByText('eu.example').waitFor();
    expect(page.url()).toContain('key=config.regions.eu');
    await page.reload();
    await page.getByText('eu.example').waitFor();
    await page.getByRole('row', { name: 'asia', exact: true }).waitFor();
    await page.getByPlaceholder('Keys that begin with …').fill('lock');
    await page.keyboard.press('Enter');
    await page.getByText('1 record', { exact: true }).waitFor();
  });

  it('show each field in the most specific format, and in any other', async () => {
    const { page, visit } = await newPage();
    await visit('/kv?key=config.limits', '.fields');
    await page.getByText('2026-02-03T04:05:06.000Z').first().waitFor();
    await page.locator('.fields .json-line', { hasText: 'burst' }).first().waitFor();
    await expectAccessible(page);
    await picture(page, 'records');
    await page.getByLabel('Format of max').selectOption('hex');
    await page.getByText('3530 30').waitFor();
    await visit('/kv?key=cache.logo', '.fields');
    await page.getByText('8950 4e47 ff').waitFor();
    await page.getByLabel('Format of bytes').selectOption('base64');
    await page.getByText('iVBOR/8=').waitFor();
    await visit('/kv?key=locks.reindex', '.fields');
    await page.getByText(/1\d m \d\d s left/).waitFor();
  });

  it('are highlighted when they change', async () => {
    const { page, visit } = await newPage();
    await visit('/kv?key=config.features', '.fields');
    await page.getByText('live', { exact: true }).waitFor();
    await rig.store.kv.setField('config.features', 'voice', 'on');
    await page.locator('tr.just-changed', { hasText: 'voice' }).waitFor();
    await rig.store.kv.put('config.new', { a: 1 });
    await page.getByRole('row', { name: 'new', exact: true }).waitFor();
    await rig.store.kv.delete('config.new');
    await page.getByRole('row', { name: 'new', exact: true }).waitFor({ state: 'detached' });
  });

  it('are written only on the revision that was read, so that no concurrent write is lost', async () => {
    const { page, visit } = await newPage();
    await visit('/kv?key=config.limits', '.fields');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Value of max').fill('600');
    await page.getByRole('button', { name: /Write on revision/ }).click();
    await expect.poll(() => textOf('config.limits', 'max')).toBe('600');

    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Value of max').fill('700');
    await rig.store.kv.setFields('config.limits', { max: 650, window: '2m' });
    await page.getByText(/is now at revision/).waitFor();
    await page.getByRole('button', { name: /Write on revision/ }).click();
    const conflict = page.getByRole('region', { name: 'Conflict' });
    await conflict.getByText('both changed').waitFor();
    expect(await conflict.locator('tbody tr').first().innerText()).toMatch(/max[\s\S]*600[\s\S]*650[\s\S]*700/);
    expect(await conflict.locator('tbody tr').nth(1).innerText()).toMatch(/window[\s\S]*1m[\s\S]*2m[\s\S]*2m/);
    expect(await textOf('config.limits', 'max')).toBe('650');
    await expectAccessible(page);
    await picture(page, 'conflict');
    await conflict.getByRole('button', { name: /Write mine on revision/ }).click();
    await expect.poll(() => textOf('config.limits', 'max')).toBe('700');
    expect(await textOf('config.limits', 'window')).toBe('2m');
  });

  it('are written once when the response is lost and the write is retried', async () => {
    const { page, visit, faults } = await newPage();
    await visit('/kv?key=config.limits', '.fields');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Value of max').fill('800');
    const before = (await rig.store.kv.get('config.limits'))!.revision;
    let lost = 0;
    await page.route('**/swap*', async (route) => {
      if (lost++ > 0) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await page.getByRole('button', { name: /Write on revision/ }).click();
    await page.getByText('The server does not answer').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.record-editor').waitFor({ state: 'detached' });
    expect(await textOf('config.limits', 'max')).toBe('800');
    expect((await rig.store.kv.get('config.limits'))!.revision).toBe(before + 1);
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_')));
  });

  it('are deleted after their key was typed, unless they have changed', async () => {
    const { page, visit } = await newPage();
    await rig.store.kv.put('tmp.one', { a: 1 });
    await visit('/kv?key=tmp.one', '.fields');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await dialog.getByText('tidemark kv delete tmp.one').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('textbox').fill('tmp.one');
    await rig.store.kv.setField('tmp.one', 'b', 2);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('The record has changed in the meantime and was kept').waitFor();
    expect(await textOf('tmp.one', 'b')).toBe('2');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('textbox').fill('tmp.one');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no record under this key').waitFor();
    expect(await rig.store.kv.get('tmp.one')).toBeNull();
  });

  it('show a minimum count until all keys are read', async () => {
    await writeManyRecords(rig, 'many.', 10_400);
    const { page, visit } = await newPage();
    await visit('/kv?prefix=many.', '.rows [role=row]');
    await page.getByText('at least 10,000 records').waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('grid').focus();
    await page.keyboard.press('End');
    await page.getByText('10,000 loaded: load more').click();
    await page.getByText('10,400 records').waitFor();
    expect(await page.locator('.rows [role=row]').count()).toBeLessThan(80);
    await visit('/kv', '.rows [role=row]');
    await page.getByRole('row', { name: /many\.\s*at least/ }).waitFor();
  });
});

describe('jobs and what needs attention', { timeout: 60_000 }, () => {
  beforeAll(() => writeJobs(rig));

  it('are shown on a board by state', async () => {
    const { page, visit } = await newPage();
    await visit('/jobs', '.board');
    const column = (state: string) => page.getByRole('region', { name: `${state} jobs` });
    await column('failed').getByText('the mailbox does not exist').waitFor();
    await column('running')
      .getByText(/ended 4\d m \d\d s ago/)
      .waitFor();
    await column('claimed')
      .getByText(/\d\d m.* left/)
      .waitFor();
    await column('delayed').getByText('retry 1 of 3').waitFor();
    await column('completed').getByText('mail-4').waitFor();
    await column('cancelled').getByText('mail-6').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Type of job').selectOption('video-encode');
    await page.getByText('mail-4').waitFor({ state: 'detached' });
    expect(page.url()).toContain('type=video-encode');
  });

  it('list a stuck job on the start page, with the reason and what happens next', async () => {
    const { page, visit } = await newPage();
    await visit('/', '.concern');
    await page.getByRole('heading', { level: 1, name: 'Attention' }).waitFor();
    expect(await page.locator('nav .nav-count').innerText()).toMatch(/^\d+$/);
    const stuck = page.locator('.concern', { hasText: STUCK_JOB });
    await stuck.getByText(/The lease of w2 ended 4\d m \d\d s ago without a heartbeat/).waitFor();
    await stuck.getByText('The next sweep sends it back to pending, retry 1 of 3.').waitFor();
    await stuck.getByText('tidemark sweep --store').waitFor();
    const untaken = page.getByRole('region', { name: 'Jobs that no worker claims' });
    await untaken.getByText('2 jobs').waitFor();
    await untaken.getByText(/No worker has claimed the oldest job for 1 h 1\d m/).waitFor();
    await expectAccessible(page);
    await picture(page, 'attention');
    await stuck.getByRole('link').click();
    await page.getByRole('article', { name: 'Job' }).getByText('step 2 of 5').waitFor();
    await expectAccessible(page);
    await picture(page, 'stuck-job');
  });

  it('requeue a failed job once', async () => {
    const { page, visit } = await newPage();
    await visit('/attention', '.concern');
    const dead = page.locator('.concern', { hasText: DEAD_JOB });
    await dead.getByText(`tidemark jobs requeue ${DEAD_JOB}`).waitFor();
    await dead.getByRole('button', { name: 'Requeue' }).click();
    await page.getByText(`Requeued ${DEAD_JOB}`).waitFor();
    const [taskType, taskId] = DEAD_JOB.split('/') as [string, string];
    expect((await rig.store.jobs.get({ taskType, taskId }))?.state).toBe('pending');
    await dead.waitFor({ state: 'detached' });
  });

  it('take a job back from an unresponsive worker, as a sweep would', async () => {
    const { page, visit } = await newPage();
    await visit('/attention', '.concern');
    const stuck = page.locator('.concern', { hasText: STUCK_JOB });
    await stuck.getByRole('link').click();
    await page.locator('.job-panel').getByText('tidemark sweep').waitFor();
    await page.goBack();
    await stuck.getByRole('button', { name: 'Take it back now' }).click();
    await page.getByText('Sent back to pending').waitFor();
    const [taskType, taskId] = STUCK_JOB.split('/') as [string, string];
    expect(await rig.store.jobs.get({ taskType, taskId })).toMatchObject({ state: 'pending', retryCount: 1 });
    await stuck.getByRole('button', { name: 'Take it back now' }).waitFor({ state: 'detached' });
  });

  it('list settings that put data at risk', async () => {
    const store = memoryStore();
    const server = createServer({ store, inspector: rig.built, port: 0 });
    try {
      const url = await server.listen();
      const { page, visit } = await newPage({}, { ...rig, url });
      await visit('/', '.concern');
      await page.getByRole('region', { name: 'Settings that put data at risk' }).waitFor();
      await page.getByText('tidemark doctor').first().waitFor();
    } finally {
      await server.close();
      await store.close();
    }
  });

  it('cancel a job after confirmation, and update live', async () => {
    const { page, visit } = await newPage();
    await visit('/jobs?job=email-send/mail-7', '.job-panel .outlook');
    await page.getByText('live', { exact: true }).waitFor();
    await page.locator('.job-panel').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByText('tidemark jobs cancel email-send/mail-7').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.locator('.job-panel').getByText('It was cancelled.').waitFor();
    await page.getByRole('region', { name: 'cancelled jobs' }).getByText('mail-7').waitFor();
    await rig.store.jobs.enqueue({ taskType: 'email-send', taskId: 'mail-8' });
    await page.getByRole('region', { name: 'pending jobs' }).getByText('mail-8').waitFor();
  });

  it('show only the tenant in the address, while the attention page covers all tenants', async () => {
    const { kv, jobs } = rig.store.forTenant('globex');
    const job = { taskType: 'invoice', taskId: 'i-1' };
    await kv.put('only.here', { a: 1 });
    await jobs.enqueue(job);
    await jobs.claim(job, { worker: 'w', claimId: 'c' });
    await jobs.fail({ ...job, claimId: 'c' }, { error: 'no printer', retry: false });
    const { page, visit } = await newPage();
    await visit('/kv?tenant=globex&key=only.here', '.fields');
    await page.getByText('2 records').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await kv.setField('only.here', 'a', 2);
    await page.locator('tr.just-changed', { hasText: 'a' }).waitFor();
    await visit('/attention', '.concern');
    const dead = page.locator('.concern', { hasText: 'invoice/i-1' });
    await dead.getByText('tidemark jobs requeue invoice/i-1 --tenant globex').waitFor();
    await dead.getByRole('button', { name: 'Requeue' }).click();
    await page.getByText('Requeued invoice/i-1').waitFor();
    expect((await jobs.get(job))?.state).toBe('pending');
    expect(await rig.store.jobs.get(job)).toBeNull();
  });

  it('list runs that failed since the last visit, until they are marked as seen', async () => {
    const first = await newPage();
    await first.visit('/attention', '.concern');
    const run = rig.store.runs.handle('broken-1', { tenantId: 'acme' });
    await run.append('RunStarted');
    await run.append('RunFailed', { errorCode: 'NO_STOCK', errorMessage: 'the shelf is empty' });
    await first.page.keyboard.press('r');
    const failed = first.page.locator('.concern', { hasText: 'broken-1' });
    await failed.getByText('It failed: NO_STOCK: the shelf is empty').waitFor();
    await first.page.reload();
    await failed.waitFor();
    await first.page.getByRole('button', { name: 'Mark as seen' }).click();
    await failed.waitFor({ state: 'detached' });
  });

  it('list a stored snapshot that lags behind', async () => {
    const run = rig.store.runs.handle('slow-1', { tenantId: 'acme' });
    await run.append('RunStarted');
    await rig.store.runs.getSnapshot('slow-1', { tenantId: 'acme' });
    const moment = Date.now() + 10;
    await rig.clock.at(moment, () => run.append('StepStarted', {}, { stepId: 'one' }));
    const { page, visit } = await newPage();
    await page.waitForTimeout(1_200);
    await visit('/attention', '.concern');
    await page
      .locator('.concern', { hasText: 'slow-1' })
      .getByText(/1 event behind/)
      .waitFor();
  });

  it('work on a phone and in the dark theme', async () => {
    const { page, visit } = await newPage({ viewport: PHONE, hasTouch: true, colorScheme: 'dark' });
    for (const path of ['/attention', '/kv?key=config.limits', '/jobs?job=email-send/mail-2', '/artifacts']) {
      await visit(path, '.view');
      await page.waitForTimeout(500);
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    }
  });

  it('are found by their keys from any view', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', 'h1');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('config.reg');
    await page.getByRole('option', { name: /config\.regions\.eu/ }).waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(STUCK_JOB);
    await page.getByRole('option', { name: new RegExp(STUCK_JOB) }).click();
    await page.getByRole('article', { name: 'Job' }).waitFor();
    for (const key of ['g', 'k']) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: 'Records' }).waitFor();
  });

  it('show records and jobs with an attack in every field as text', async () => {
    await writeHostileRecords(rig);
    const { page, visit } = await newPage();
    await visit('/kv?prefix=x.', '.rows [role=row]');
    await page.getByRole('row', { name: /<img/ }).first().click();
    await page.getByRole('heading', { level: 2, name: HOSTILE_KEY }).waitFor();
    await page.locator('.fields th', { hasText: '__proto__' }).waitFor();
    expect(await page.locator('.fields tbody tr').count()).toBe(ATTACKS.length + 2);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Value of __proto__').fill('changed');
    await page.getByRole('button', { name: /Write on revision/ }).click();
    await page.locator('.record-editor').waitFor({ state: 'detached' });
    expect(await textOf(HOSTILE_KEY, '__proto__')).toBe('changed');
    await page.getByRole('button', { name: 'Delete' }).click();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await visit('/jobs?type=attack', '.job-card');
    await page.locator('.job-card a').click();
    await page.locator('.job-panel .outlook').waitFor();
    await expectAccessible(page);
    await visit('/attention', '.concern');
    await page.locator('.concern', { hasText: 'attack/' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type(HOSTILE_KEY);
    await page.getByRole('option', { name: /<img/ }).first().waitFor();
  });
});
