/**
 * The inspector in a real browser: the time to paint a long run, the size of the page and how smoothly it scrolls.
 * There is nothing to compare it with, so each figure is compared with its limit.
 */
import { readFileSync } from 'node:fs';
import { openPage, type Rig, startRig, type WatchedPage } from '../packages/inspector/test/browser.ts';
import { TENANT, writeLongRun } from '../packages/inspector/test/data.ts';
import { atMost, type Figure } from './measure.ts';

const MEDIUM = 20_000;
const LONG = 1_000_000;
const QUICK_LONG = 100_000;
const KILOBYTE = 1_024;
const MEGABYTE = 1_000_000;
/** Steps of the wheel, and pixels per step. */
const WHEELS = 120;
const WHEEL_PIXELS = 900;
const TIMES = 5;
const PAINTED = 'new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))';

interface Opened {
  /** Time from the start of the navigation until the last event is on the screen. */
  paintedMs: number;
  nodes: number;
  megabytes: number;
  longTaskMs: number;
}

export async function benchInspector(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const long = quick ? QUICK_LONG : LONG;
  const rig = await startRig();
  try {
    for (const count of [MEDIUM, long]) {
      report(`writing a run of ${count} events`);
      await writeLongRun(rig, `run-${count}`, count);
      await rig.store.runs.refreshSnapshot(`run-${count}`, { tenantId: TENANT, timeoutMs: 600_000 });
    }
    report('opening them');
    const medium = await openSeveralTimes(rig, MEDIUM);
    const longest = await openSeveralTimes(rig, long);
    const name = (count: number) => `a run of ${count.toLocaleString('en')} events`;
    return [
      bound(1_000, `first paint of ${name(MEDIUM)}`, 'ms', medium.paintedMs),
      bound(2_000, `first paint of ${name(long)}, at its end`, 'ms', longest.paintedMs),
      bound(1_500, `elements of ${name(long)}`, 'elements', longest.nodes),
      bound(50, `95th percentile of the work of tasks while scrolling ${name(MEDIUM)}`, 'ms', medium.longTaskMs),
      bound(50, `95th percentile of the work of tasks while scrolling ${name(long)}`, 'ms', longest.longTaskMs),
      bound(200, `memory of the page after scrolling ${name(long)}`, 'MB', longest.megabytes),
    ];
  } finally {
    await rig.stop();
  }
}

function bound(most: number, scenario: string, unit: string, ours: number): Figure {
  return atMost(1, scenario, unit, { ours, raw: most });
}

/** Returns the median of the paint times and the worst of the other figures. */
async function openSeveralTimes(rig: Rig, count: number): Promise<Opened> {
  const opened: Opened[] = [];
  for (let time = 0; time < TIMES; time++) opened.push(await openOnce(rig, count));
  const worst = (of: (it: Opened) => number) => Math.max(...opened.map(of));
  const paints = opened.map(({ paintedMs }) => paintedMs).sort((a, b) => a - b);
  return {
    paintedMs: paints[TIMES >> 1]!,
    nodes: worst((it) => it.nodes),
    megabytes: worst((it) => it.megabytes),
    longTaskMs: worst((it) => it.longTaskMs),
  };
}

async function openOnce(rig: Rig, count: number): Promise<Opened> {
  const { page, faults, close } = await openPage(rig);
  await page.goto(`/runs/run-${count}?tenant=${TENANT}&open=none`);
  await page.getByRole('row', { name: /RunFailed/ }).waitFor();
  const paintedMs = await page.evaluate<number>(PAINTED);
  const longTaskMs = await scroll(rig.browser, page);
  const megabytes = await memoryOf(rig.browser);
  const nodes = await page.locator('*').count();
  await close();
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return { paintedMs, nodes, megabytes, longTaskMs };
}

/** Scrolls up from the end, then over the whole run. Returns the 95th percentile of the tasks of the page's thread. */
async function scroll(browser: Rig['browser'], page: WatchedPage['page']): Promise<number> {
  const grid = await page.getByRole('grid').boundingBox();
  await page.mouse.move(grid!.x + 100, grid!.y + 100);
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] });
  for (let wheel = 0; wheel < WHEELS; wheel++) {
    await page.mouse.wheel(0, wheel % 40 === 39 ? WHEEL_PIXELS * 500 : -WHEEL_PIXELS);
    await page.waitForTimeout(16);
  }
  await page.keyboard.press('G');
  await page.waitForTimeout(200);
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  return percentile(tasksOf(trace.traceEvents), 0.95);
}

/** The used fields of a Chromium trace event. */
interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** Microseconds of CPU time. Waiting time on a busy machine is not caused by the page. */
  tdur?: number;
  args?: { name?: string };
}

/**
 * Returns the duration of each task of the page's own thread, in milliseconds. Tasks under a millisecond are not
 * noticeable and are left out.
 */
function tasksOf(events: readonly TraceEvent[]): number[] {
  const isMain = (it: TraceEvent) => it.name === 'thread_name' && it.args?.name === 'CrRendererMain';
  const threads = new Set(events.filter(isMain).map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = events.filter(({ name, pid, tid }) => name.endsWith('RunTask') && threads.has(`${pid} ${tid}`));
  return tasks.map(({ tdur = 0 }) => tdur / 1_000).filter((ms) => ms >= 1);
}

/** Returns the private memory of the largest renderer process, which draws the page. */
async function memoryOf(browser: Rig['browser']): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const held = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0));
  return (Math.max(...held) * KILOBYTE) / MEGABYTE;
}

function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('Nothing was traced while scrolling');
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!;
}
