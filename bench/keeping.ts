/**
 * Archives runs with a hundred events each, reads every file back, restores all runs, and compares each event byte for
 * byte.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, RunEventInput, Store } from '@tidemark/core';
import { createArchiver, directoryTarget } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { atMost, type Figure } from './measure.ts';

const EVENTS = 100;
const SHARE_WANTED = 0.15;
const CALLERS = 8;
const SCOPE = { tenantId: 'default', projectId: 'billing', environmentId: 'production', planId: 'invoices' };

/** Generates deterministic text, different for each run. */
class Words {
  #state = 1;

  number(below: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return Math.floor((this.#state / 0x8000_0000) * below);
  }

  text(count: number): string {
    return Array.from({ length: count }, () => WORDS[this.number(WORDS.length)]).join(' ');
  }
}

const WORDS =
  `invoice customer total amount shipped warehouse retry token limit model answer context document page summary
  field updated checked approved rejected queue pending order number address street city delivery carrier tracking price
  quantity currency exchange rate tax rule country payment card bank transfer reference due date reminder the a of to for
  with and was not found please see attached contract clause renewal discount`.split(/\s+/);

const PAYLOADS: ((words: Words, at: number) => JsonObject)[] = [
  (words) => ({ tool: 'search', input: { query: words.text(6), limit: 20, country: 'DE' }, attempt: 1 }),
  (words) => ({
    tool: 'search',
    durationMs: words.number(5_000),
    output: [1, 2, 3].map(() => ({
      id: words.number(1_000_000),
      title: words.text(5),
      score: words.number(1_000) / 1_000,
    })),
  }),
  (words) => ({
    message: { role: 'assistant', content: words.text(40) },
    usage: { inputTokens: words.number(4_000), outputTokens: words.number(800) },
  }),
  (_, at) => ({ progress: at, total: EVENTS }),
];

function eventsOf(runId: string, words: Words): RunEventInput[] {
  return Array.from({ length: EVENTS }, (_, at) => {
    const step = at > 0 && at < EVENTS - 1;
    return {
      ...SCOPE,
      runId,
      eventId: crypto.randomUUID(),
      eventType:
        at === 0
          ? 'RunStarted'
          : at === EVENTS - 1
            ? 'RunCompleted'
            : ['ToolCalled', 'ToolAnswered', 'MessageAdded', 'Progress'][at % 4]!,
      emittedAt: new Date(Date.UTC(2026, 1, 16) + at * 1_000 + words.number(1_000)).toISOString(),
      planVersion: '1.4.2',
      engineAttemptId: 1,
      logicalAttemptId: 1,
      ...(step ? { stepId: `step-${at >> 2}`, payload: PAYLOADS[at % 4]!(words, at) } : {}),
      // Some producers send their own keys.
      ...(at % 4 === 1 ? { idempotencyKey: crypto.randomUUID() } : {}),
    };
  });
}

/** Returns the hash of all events of a run as returned to readers, and their size as lines of JSON. */
async function contentOf(store: Store, runId: string): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const event of store.runs.readEvents(runId, { tenantId: SCOPE.tenantId })) {
    const line = `${JSON.stringify(event)}\n`;
    hash.update(line);
    bytes += Buffer.byteLength(line);
  }
  return { sha256: hash.digest('hex'), bytes };
}

export async function benchKeeping(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const runs = quick ? 500 : 10_000;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-keeping-'));
  const store = await sqliteStore(join(folder, 'store.db'));
  try {
    const words = new Words();
    const contents = new Map<string, string>();
    let bytes = 0;
    for (let run = 0; run < runs; run++) {
      const runId = `run-${run}`;
      await store.runs.appendEvents(eventsOf(runId, words));
      const content = await contentOf(store, runId);
      contents.set(runId, content.sha256);
      bytes += content.bytes;
      if ((run + 1) % 1_000 === 0) report(`${run + 1} runs written`);
    }
    const archiver = createArchiver({ store, target: directoryTarget(join(folder, 'archive')) });
    const start = performance.now();
    const archived = await archiver.archiveRuns(
      {},
      { onProgress: ({ runs: done }) => report(`${done} runs archived`) },
    );
    const archivedMs = performance.now() - start;
    if (archived.runs !== runs) throw new Error(`${archived.runs} of ${runs} runs were archived`);
    await restoreAll(store, contents, (runId) => archiver.restoreRun(runId, { tenantId: SCOPE.tenantId }), report);
    const restoredMs = performance.now() - start - archivedMs;
    const perSecond = (ms: number) => Math.round((runs * EVENTS * 1_000) / ms);
    report(`${perSecond(archivedMs)} events/s archived, ${perSecond(restoredMs)} restored and compared`);
    const scenario = `archive of ${runs} runs of ${EVENTS} events, against their JSON; all restored byte-equal`;
    return [atMost(SHARE_WANTED, scenario, 'MB', { ours: archived.bytes / 1e6, raw: bytes / 1e6 })];
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

async function restoreAll(
  store: Store,
  contents: ReadonlyMap<string, string>,
  restore: (runId: string) => Promise<unknown>,
  report: (line: string) => void,
): Promise<void> {
  let restored = 0;
  const left = contents.entries();
  const work = async () => {
    for (const [runId, sha256] of left) {
      await restore(runId);
      if ((await contentOf(store, runId)).sha256 !== sha256) throw new Error(`${runId} came back changed`);
      if (++restored % 1_000 === 0) report(`${restored} runs restored and compared`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
}
