/** Reads all records of a prefix, or all entries of a journal, page by page. */

import { corruptValue, Damage } from '../checks/damage.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalEntry, JournalName } from '../engine/journal.ts';
import type { RecordSpace, Records, ScannedRecord } from '../engine/records.ts';

const PAGE = 500;

/**
 * Yields live records under a prefix in byte order of keys, reading `page` at a time. Damaged records are omitted and
 * added to `call.damaged`; without it, the scan fails at its end.
 */
export async function* scanRecords(
  records: Records,
  space: RecordSpace,
  tenantId: string,
  range: { prefix: string; after?: string | null; page?: number },
  call: EngineCall,
): AsyncGenerator<ScannedRecord, void, undefined> {
  const limit = range.page ?? PAGE;
  const damage = new Damage();
  let after = range.after ?? null;
  for (;;) {
    const page = await records.scan(space, tenantId, { prefix: range.prefix, after, limit }, call);
    for (const record of page) {
      if (!record.damaged) yield record;
      else damage.note(corruptValue(space, record.key));
    }
    if (page.length < limit) return damage.report(call.damaged);
    after = page.at(-1)!.key;
  }
}

/** Throws `CORRUPT_VALUE` if entries are missing, because sequences of journals have no gaps. */
export function checkDense({ space, name }: JournalName, after: number, entries: readonly JournalEntry[]): void {
  const gap = entries.findIndex(({ seq }, at) => seq !== after + at + 1);
  if (gap !== -1) throw corruptValue(space, `${name} / ${after + gap + 1}`);
}

/** Yields all entries of a journal, in pages. */
export async function* readJournal(
  journal: Journal,
  name: JournalName,
  call: EngineCall,
): AsyncGenerator<JournalEntry[], void, undefined> {
  let after = 0;
  for (;;) {
    const page = await journal.read(name, after, PAGE, call);
    checkDense(name, after, page);
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.seq;
  }
}
