/**
 * Restores a run to its journal in steps of one write each. Reads the state again if another process has performed a
 * step.
 */

import { TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalEntry, JournalRestore } from '../engine/journal.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RestoredPart, StoredRunEvent } from '../engine/runs.ts';
import { encodeEvent } from '../runs/event-forms.ts';
import { encodeNotice } from '../runs/notices.ts';
import { planRestore } from '../runs/restore-plan.ts';
import { encodeHead, headOf, nameOf } from './run-entries.ts';

const STEP_EVENTS = 500;
/** Small enough for a message or script of every engine. */
const STEP_CHARS = 256 * 1024;
const MAX_TRIES = 200;

export async function restoreJournal(
  journal: Journal,
  run: RunKey,
  part: RestoredPart,
  call: EngineCall & { overDeleted?: boolean },
): Promise<void> {
  for (let races = 0; races < MAX_TRIES; ) {
    const step = await nextStep(journal, run, part, call);
    if (step === null) return;
    if (!(await journal.restore(nameOf(run), step, call))) races++;
    else if (step.entries.at(-1)?.seq === part.events.at(-1)!.runSeq) return;
  }
  throw new TidemarkError('OVERLOADED', `Run ${JSON.stringify(run.runId)} is restored by too many at once; try again`, {
    runId: run.runId,
  });
}

/** Returns the next entries to restore, or `null` if there is nothing left to do. */
async function nextStep(
  journal: Journal,
  run: RunKey,
  part: RestoredPart,
  { overDeleted, ...call }: EngineCall & { overDeleted?: boolean },
): Promise<JournalRestore | null> {
  const name = nameOf(run);
  const found = await journal.head(name, call);
  const seq = found.tombstone === null ? 0 : (found.head?.seq ?? 0);
  const plan = planRestore(run, part, { head: headOf(name, found), restored: seq }, { now: Date.now(), overDeleted });
  if (plan === null || (plan.events.length === 0 && !part.isLast)) return null;
  const entries = firstFew(plan.events);
  const { createdAt, updatedAt, rewrites } = part.head;
  return {
    known: { tombstone: found.tombstone, seq },
    tombstone: JSON.stringify(plan.tombstone),
    entries,
    head: { seq: part.head.seq, createdAt, updatedAt, state: encodeHead(part.head), rewrites },
    isLast: part.isLast && entries.length === plan.events.length,
    notice: encodeNotice({ kind: 'restored', life: part.head.life }),
  };
}

function firstFew(events: readonly StoredRunEvent[]): JournalEntry[] {
  const entries: JournalEntry[] = [];
  let chars = 0;
  for (const event of events.slice(0, STEP_EVENTS)) {
    const body = encodeEvent(event);
    chars += body.length;
    if (entries.length > 0 && chars > STEP_CHARS) break;
    entries.push({ seq: event.runSeq, time: event.persistedAt, key: event.idempotencyKey, body });
  }
  return entries;
}
