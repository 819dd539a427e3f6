/**
 * One actor appends to a run and redacts its events while the other archives, restores and finally deletes it. A reader
 * with notices keeps a copy of the run: in the end the copy must equal the run and contain no redacted payload.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedItem, NoticeItem, Store } from '@tidemark/core';
import type { Random } from '../random.ts';
import { runEvent } from '../run-event.ts';
import { ignoring, until } from './actors.ts';
import type { Race } from './race.ts';

const EVENTS = 16;
const WAIT_LIMIT_MS = 20_000;

/** Copies the runs of a tenant, as a consumer of the feed would. */
class Copier {
  /** For each run, whether each of its events still has a payload. */
  readonly runs = new Map<string, Map<number, boolean>>();
  readonly removals = new Map<string, number>();
  #cursor: string | undefined;

  async read(store: Store, limit: number): Promise<boolean> {
    const from = this.#cursor === undefined ? {} : { cursor: this.#cursor };
    const { items, next } = await store.runs.feedPage({ limit, notices: true, ...from });
    for (const item of items) this.#take(item);
    const isEnd = next === this.#cursor;
    this.#cursor = next;
    return isEnd;
  }

  #take(item: FeedItem | NoticeItem): void {
    if ('event' in item) {
      const { runId, runSeq, redacted } = item.event;
      const copy = this.runs.get(runId) ?? new Map<number, boolean>();
      this.runs.set(runId, copy.set(runSeq, redacted === undefined));
      return;
    }
    const { kind, runId, runSeq } = item.notice;
    const copy = this.runs.get(runId);
    if (kind === 'redacted') {
      if (copy?.has(runSeq!)) copy.set(runSeq!, false);
      return;
    }
    this.runs.delete(runId);
    if (kind === 'deleted') this.removals.set(runId, (this.removals.get(runId) ?? 0) + 1);
  }
}

/** Archives a run and restores it. Fails if the run changes in between. */
async function moveAway({ runs }: Store, runId: string, random: Random): Promise<void> {
  const parts = await Array.fromAsync(runs.exportRun(runId));
  const { lastEventSeq, rewrites } = parts[0]!.run;
  const seen = { expectedSeq: lastEventSeq, expectedRewrites: rewrites! };
  await runs.archiveRun(runId, { location: 'elsewhere', ...seen });
  await sleep(random.between(0, 5));
  await runs.restoreRun(parts);
}

async function compare(copier: Copier, { runs }: Store, runId: string): Promise<string[]> {
  const stored = await runs.fetchEvents(runId);
  const expected = stored.map(({ runSeq, redacted }) => `${runSeq}${redacted === undefined ? '' : ' redacted'}`);
  const copy = [...(copier.runs.get(runId) ?? [])].sort(([a], [b]) => a - b);
  const copied = copy.map(([runSeq, hasPayload]) => `${runSeq}${hasPayload ? '' : ' redacted'}`);
  return copied.join() === expected.join() ? [] : [`${runId} is [${expected.join()}], its copy [${copied.join()}]`];
}

export const noticesBesideWriters: Race = {
  summary: "' appends and redactions during archives, restores and deletions, with a reader of notices",
  // DynamoDB has no notices.
  engines: ['memory', 'sqlite', 'postgres', 'redis', 'nats'],
  rounds: { short: 4, long: 80 },
  async round({ a, b, id, random }) {
    const tenantId = `tenant-${id}`;
    const [one, two] = [a.forTenant(tenantId), b.forTenant(tenantId)];
    const [kept, gone, end] = [`${id}-kept`, `${id}-gone`, `${id}-end`];
    const copier = new Copier();
    // Passes over the events of earlier rounds in large pages.
    while (!(await copier.read(one, 1_000)));
    const over = new AbortController();
    const refused = ignoring('RUN_ARCHIVED', 'RUN_DELETED', 'RUN_NOT_FOUND', 'SEQ_CONFLICT', 'CONFLICT');
    const write = async (runId: string) => {
      for (let n = 1; n <= EVENTS; n++) {
        await one.runs.appendEvent({ ...runEvent(runId, `${n}`), tenantId }).catch(refused);
        if (n % 3 === 0)
          await one.runs.redactEvent(runId, random.between(1, n), { by: 'a', reason: 'race' }).catch(refused);
        await sleep(random.between(0, 3));
      }
    };
    const move = async (runId: string) => {
      for (let times = 0; times < 3; times++) {
        await sleep(random.between(0, 25));
        await moveAway(two, runId, random).catch(refused);
      }
    };
    // The memory engine never yields to the event loop. Without this sleep no other actor would run.
    const follow = async () => {
      await copier.read(one, random.between(1, 12));
      await sleep(1);
    };
    for (const runId of [kept, gone]) await one.runs.appendEvent({ ...runEvent(runId, '0'), tenantId });
    const following = until(over.signal, follow);
    const remove = async () => {
      await move(gone);
      return two.runs.deleteRun(gone);
    };
    const [wasDeleted] = await Promise.all([remove(), write(kept), write(gone), move(kept)]);
    await one.runs.appendEvent({ ...runEvent(end, '1'), tenantId });
    for (const deadline = Date.now() + WAIT_LIMIT_MS; !copier.runs.has(end) && Date.now() < deadline; ) await sleep(10);
    over.abort();
    await following;
    while (!(await copier.read(one, 1_000)));
    const problems = [...(await compare(copier, one, kept)), ...(await compare(copier, one, gone))];
    if (!copier.runs.has(end)) problems.push(`the reader never reached ${end}`);
    if (!wasDeleted) problems.push(`${gone} was already gone when it was deleted`);
    if (!copier.removals.has(gone)) problems.push(`the reader never learned that ${gone} was deleted`);
    if (copier.removals.has(kept)) problems.push(`the reader received a notice that ${kept} was deleted`);
    return { checks: 2 * EVENTS + 3, problems };
  },
};
