import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';
import { PHONE, picture, type Rig, startRig } from './browser.ts';
import { watchedPages } from './pages.ts';
import {
  HOSTILE_SESSION,
  MEMORY,
  SESSION,
  TASK,
  TOKEN,
  TRACE,
  writeHostileSession,
  writeManySessions,
  writeSession,
} from './sessions-data.ts';

const PAGE = `/sessions/${SESSION}`;
const TABS = ['tasks', 'updates', 'steering', 'memory', 'trajectories', 'pauses', 'artifacts'];

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRig();
}, 120_000);
afterAll(() => rig?.stop());

describe('no sessions', { timeout: 60_000 }, () => {
  it('show how to create the first one', async () => {
    const { page, visit } = await newPage();
    await visit('/sessions', 'text=store.agents.saveTask');
    await expectAccessible(page);
    await visit('/pauses', 'text=mintPauseToken');
    await expectAccessible(page);
    await visit('/sessions/nobody', 'text=This session has no data yet');
  });
});

describe('sessions', { timeout: 60_000 }, () => {
  beforeAll(async () => {
    await writeManySessions(rig.store, 120);
    await writeSession(rig.store);
  });

  it('are listed, most recently active first, and searched', async () => {
    const { page, visit } = await newPage();
    await visit('/sessions', '.rows [role=row]');
    await page.getByText('121 sessions').waitFor();
    expect(await page.locator('.rows [role=row]').first().innerText()).toContain(SESSION);
    expect(await page.locator('.rows [role=row]').count()).toBeLessThan(60);
    await expectAccessible(page);
    await page.keyboard.press('/');
    await page.keyboard.type('chat-11');
    await page.getByText('10 sessions').waitFor();
    expect(page.url()).toContain('q=chat-11');
    await page.getByPlaceholder('Search by id …').fill('support');
    await page.getByText('1 session', { exact: true }).waitFor();
    await page.getByRole('row', { name: /support-42/ }).click();
    await page.getByRole('heading', { level: 1, name: SESSION }).waitFor();
  });

  it('are shown as a live conversation', async () => {
    const { page, visit } = await newPage();
    await visit(PAGE, '.said');
    const said = page.locator('.said');
    expect(await said.first().innerText()).toContain('I want my money back');
    expect(await said.count()).toBe(5);
    await page.getByText('live', { exact: true }).waitFor();
    await rig.store.agents.saveUpdate({
      ...{ sessionId: SESSION, taskId: TASK, updateId: 'live-1', updateType: 'NOTIFICATION' },
      ...{ content: { text: 'the bank has answered' }, createdAt: new Date().toISOString() },
    });
    await page.locator('.said', { hasText: 'the bank has answered' }).waitFor();
    await expectAccessible(page);
    await picture(page, 'session');
    await page.keyboard.press('3');
    await page.getByRole('row', { name: /the bank has answered/ }).click();
    await page.getByRole('article', { name: 'Update' }).getByText('live-1').first().waitFor();
    await expectAccessible(page);
  });

  it('are steered once, even when the response is lost', async () => {
    const { page, visit, faults } = await newPage();
    await visit(`${PAGE}?tab=steering`, '.steer-box');
    await page.getByPlaceholder('Message to the task …').fill('hurry up');
    await page.getByText('--data \'{"text":"hurry up"}\'').waitFor();
    let lost = 0;
    await page.route('**/steering*', async (route) => {
      if (route.request().method() !== 'POST' || lost++ > 0) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Sent', { exact: true }).waitFor();
    await page.locator('.steering-log .card', { hasText: 'hurry up' }).waitFor();
    const log = await rig.store.agents.listSteering(SESSION, { taskId: TASK });
    const sent = log.filter(({ payload }) => payload?.text === 'hurry up');
    expect(sent).toMatchObject([{ eventType: 'USER_MESSAGE', source: 'inspector' }]);
    await expectAccessible(page);
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('net::ERR_')));
  });

  it('show memory and the changes of the next version', async () => {
    const { page, visit } = await newPage();
    await visit(`${PAGE}?tab=memory`, '.memory-tab .card');
    await page.getByText('version 1', { exact: true }).waitFor();
    await page.locator('.json-line', { hasText: 'asked for a refund' }).waitFor();
    await rig.store.agents.saveMemoryState(MEMORY, {
      user: 'ada',
      facts: ['asked for a refund', 'is in a hurry'],
      turns: 2,
    });
    await page.getByText('version 2', { exact: true }).waitFor();
    const changes = page.getByRole('region', { name: 'What changed' });
    await changes.getByText('2 changes since version 1').waitFor();
    expect(await changes.innerText()).toMatch(/\/turns\s+1\s+2/);
    await expectAccessible(page);
  });

  it('show tasks, and a trace with its planner and flow events', async () => {
    const { page, visit } = await newPage();
    await visit(`${PAGE}?tab=tasks`, '.task-columns .card');
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Trace' }).click();
    expect(page.url()).toContain(`trace=${TRACE}`);
    await page.getByRole('region', { name: 'Trajectory' }).getByText('query').waitFor();
    await page.getByRole('region', { name: 'Planner events' }).getByText('840 ms').first().waitFor();
    await page.getByRole('region', { name: 'Flow events' }).getByText('node_start').first().waitFor();
    await expectAccessible(page);
    await picture(page, 'trajectory');
  });
});

describe('the pause inbox', { timeout: 60_000 }, () => {
  it('shows waiting pauses, next to expire first, and never the token', async () => {
    const { page, visit } = await newPage();
    await visit('/pauses', '.pause-card');
    expect(await page.locator('.pause-card h2').allInnerTexts()).toEqual([
      'approve a refund of 129.00',
      'send the letter',
      'has no task',
    ]);
    await page.getByText(/1\d m \d\d s left/).waitFor();
    await page.locator('.pause-card').last().getByText('cannot be answered here').waitFor();
    await page.getByText('Show its content').first().click();
    await page.locator('.json-line', { hasText: '12900' }).waitFor();
    expect(await page.content()).not.toContain(TOKEN);
    await expectAccessible(page);
    await picture(page, 'pauses');
  });

  it('lists expiring pauses on the attention page', async () => {
    const { page, visit } = await newPage();
    await visit('/', '.concern');
    const concern = page.locator('.concern', { hasText: 'approve a refund' });
    await concern.getByText(/It expires in \d+ m/).waitFor();
    await concern.getByRole('link').click();
    await page.locator('.pause-card').first().waitFor();
    expect(page.url()).toContain('tab=pauses');
  });

  it('approves and rejects by steering, without consuming the pause', async () => {
    const { page, visit } = await newPage();
    await visit('/pauses', '.pause-card');
    const [refund, letter] = [page.locator('.pause-card').first(), page.locator('.pause-card').nth(1)];
    await refund.getByPlaceholder('Why (optional)').fill('seen by ada');
    await refund.getByRole('button', { name: 'Approve' }).click();
    await refund.getByText(/Approved.*from inspector: seen by ada/).waitFor();
    await letter.getByRole('button', { name: 'Reject' }).click();
    await letter.getByText(/Rejected/).waitFor();
    const log = await rig.store.agents.listSteering(SESSION, { taskId: TASK });
    expect(log.filter(({ eventType }) => eventType === 'APPROVE' || eventType === 'REJECT')).toMatchObject([
      { eventType: 'APPROVE', payload: { comment: 'seen by ada' } },
      { eventType: 'REJECT' },
    ]);
    await expectAccessible(page);
    expect(await rig.store.agents.loadPlannerState(TOKEN)).toMatchObject({ amount: 12_900 });
    await page.getByText('1 resumed recently').waitFor();
  });
});

describe('artifacts', { timeout: 60_000 }, () => {
  it('show text as text and images as images, and never run anything', async () => {
    const { page, visit } = await newPage();
    await visit(`${PAGE}?tab=artifacts`, '.shelf [role=row]');
    await page.getByText('6 artifacts').waitFor();
    const show = async (name: RegExp) => {
      await page.locator('.shelf .rows [role=row]').filter({ hasText: name }).click();
      return page.getByRole('article', { name: 'Artifact' });
    };
    await (await show(/report\.md/)).getByText('# Report').waitFor();
    await picture(page, 'artifact');
    await (await show(/page\.html/)).locator('pre', { hasText: '<!doctype html><script>' }).waitFor();
    await (await show(/drawing\.svg/)).locator('pre', { hasText: '<svg xmlns' }).waitFor();
    await (await show(/core\.bin/)).locator('pre', { hasText: 'cafe' }).waitFor();
    const image = (await show(/pixel\.png/)).locator('img.preview');
    await expect.poll(() => image.evaluate((it) => (it as HTMLImageElement).naturalWidth)).toBe(1);
    expect(await page.locator('iframe, object, embed, script:not([src])').count()).toBe(0);
    await expectAccessible(page);
    await page.reload();
    await image.waitFor();
  });

  it('are downloaded, never opened', async () => {
    const { page, visit } = await newPage();
    await visit('/artifacts', '.shelf [role=row]');
    await page.getByPlaceholder('Name, type, session, hash …').fill('page.html');
    await page.getByRole('row', { name: /page\.html/ }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('page.html');
    expect(readFileSync(await download.path(), 'utf8')).toContain('<!doctype html><script>');
  });
});

describe('every view of sessions', { timeout: 120_000 }, () => {
  it('works on a phone and in the dark theme', async () => {
    const { page, visit } = await newPage({ viewport: PHONE, hasTouch: true, colorScheme: 'dark' });
    for (const path of ['/sessions', '/pauses', PAGE, ...TABS.map((tab) => `${PAGE}?tab=${tab}`)]) {
      await visit(path, '.view');
      await page.waitForTimeout(400);
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    }
  });

  it('shows a session with an attack in every field as text', async () => {
    await writeHostileSession(rig.store);
    const { page, visit } = await newPage();
    await visit('/sessions?q=script', '.rows [role=row]');
    await page.getByRole('row').last().click();
    await page.getByRole('heading', { level: 1, name: HOSTILE_SESSION }).waitFor();
    await page.locator('.said').first().waitFor();
    await page.locator('.said button').first().click();
    await expectAccessible(page);
    for (const key of ['2', '3', '4', '5', '6', '7', '8']) {
      await page.keyboard.press(key);
      await page.waitForTimeout(400);
      const closed = page.locator('#tab-page details:not([open]) summary');
      while ((await closed.count()) > 0) await closed.first().click();
      await expectAccessible(page);
    }
    for (const row of await page.locator('.shelf .rows [role=row]').all()) {
      await row.click();
      await page.getByRole('article', { name: 'Artifact' }).waitFor();
      await page.waitForTimeout(200);
    }
    await visit('/pauses', '.pause-card');
    await visit('/attention', '.concern');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('script');
    await page
      .getByRole('option', { name: /session/ })
      .first()
      .waitFor();
  });
});
