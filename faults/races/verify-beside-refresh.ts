/**
 * `verify` finds a wrong stored snapshot and replaces it, while another process appends and refreshes the same run.
 * Once `verify` has reported it, no snapshot may be folded from the wrong one, and the stored one must never return to
 * an earlier sequence.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunStore } from '@tidemark/core';
import { engineOf, type RunEngine, type RunKey } from '@tidemark/core/engine';
import { boundText, readBound } from '../../packages/core/src/runs/bound-snapshot.ts';
import { runEvent } from '../run-event.ts';
import { until } from './actors.ts';
import type { Race } from './race.ts';

const WRONG = 'a reason that no event has';
/** Appends and refreshes during each verification. */
const APPENDS = 6;

/**
 * Stores a snapshot with content that no event has. Readers use a bound snapshot until `verify` compares it, as if a
 * faulty reducer had folded it. Every reader detects an unbound snapshot, as if it were damaged.
 */
async function spoil(runs: RunEngine, run: RunKey, isBound: boolean): Promise<void> {
  const stored = (await runs.loadSnapshot(run, {}))!;
  const found = readBound(run, stored.body, stored);
  if ('problem' in found) throw new Error(`${run.runId}: ${found.problem}`);
  const { snapshot, link } = found;
  const wrong = { ...snapshot, error: { code: 'E1', message: WRONG } };
  const body = isBound ? boundText(run, { snapshot: wrong, link }, stored.rewrites) : JSON.stringify(wrong);
  await runs.saveSnapshot(run, { ...stored, status: snapshot.status, body }, {});
}

/**
 * Reports stored snapshots that go back to an earlier sequence. Reads the stored form, because `getSnapshot` would fold
 * a missing snapshot, which may be newer than any stored one.
 */
class Watcher {
  readonly problems: string[] = [];
  readonly #runs: RunEngine;
  readonly #run: RunKey;
  #seq = 0;

  constructor(runs: RunEngine, run: RunKey) {
    this.#runs = runs;
    this.#run = run;
  }

  async look(): Promise<void> {
    const seq = (await this.#runs.loadSnapshot(this.#run, {}))?.lastEventSeq ?? this.#seq;
    if (seq < this.#seq) this.problems.push(`the stored snapshot went back from ${this.#seq} to ${seq}`);
    this.#seq = Math.max(this.#seq, seq);
    // The memory engine never yields to the event loop. Without this sleep no other actor would run.
    await sleep(1);
  }
}

export const verifyBesideRefresh: Race = {
  summary: "' verify that replaces a wrong snapshot while a projector runs",
  rounds: { short: 6, long: 200 },
  async round({ a, b, id, random }) {
    const runId = `${id}-run`;
    const [runs, beside] = [a, b].map((store) => store.forTenant('default').runs) as [RunStore, RunStore];
    const append = (eventType: string) => runs.appendEvent({ ...runEvent(runId, randomUUID()), eventType });
    await append('RunStarted');
    await append('Progress');
    await runs.refreshSnapshot(runId);
    const run = { tenantId: 'default', runId };
    await spoil(engineOf(a)!.runs!, run, random.between(0, 2) === 0);
    const over = new AbortController();
    const watcher = new Watcher(engineOf(b)!.runs!, run);
    const watching = until(over.signal, () => watcher.look());
    const refresh = async () => {
      for (let n = 0; n < APPENDS; n++) {
        await append('Progress');
        await runs.refreshSnapshot(runId);
        await sleep(random.between(0, 2));
      }
    };
    const verify = async () => {
      await sleep(random.between(0, 8));
      return beside.verify(runId);
    };
    const [{ snapshot: report }] = await Promise.all([verify(), refresh()]);
    over.abort();
    await watching;
    const { problems } = watcher;
    const look = (what: string, snapshot: unknown) => {
      if (JSON.stringify(snapshot).includes(WRONG)) problems.push(`${what} says what no event says`);
    };
    // If the projector was first, verify compared a correct snapshot.
    const isSettled = report?.ok !== false || report.resynced === true;
    if (!isSettled) problems.push('verify found a wrong snapshot and did not replace it');
    look('the stored snapshot', await runs.getSnapshot(runId));
    look('the projected snapshot', await beside.projectSnapshot(runId));
    look('the refreshed snapshot', (await runs.refreshSnapshot(runId)).snapshot);
    return { checks: 1, problems };
  },
};
