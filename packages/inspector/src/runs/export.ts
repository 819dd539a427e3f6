/** Exports a run as a file with one event per line, which this page can open again. */
import { LINES } from '@tidemark/wire';
import { notify } from '../parts/copy.tsx';
import { counted } from '../parts/numbers.ts';
import { saveFile } from '../parts/save-file.ts';
import type { Run } from './run.ts';

const PAGE = 1_000;

export async function exportRun(run: Run, runId: string): Promise<void> {
  const head = run.head.value ?? 0;
  const parts: Blob[] = [];
  let seq = 0;
  while (seq < head) {
    const { events } = await run.source.read(seq, PAGE);
    if (events.length === 0) break;
    // The browser moves large blobs to disk, so only one page of events is held in memory.
    parts.push(new Blob([events.map((event) => `${JSON.stringify(event)}\n`).join('')]));
    seq = events.at(-1)!.runSeq;
    if (parts.length % 10 === 0) notify(`Exported ${counted(seq, 'event')} so far`);
  }
  saveFile(new Blob(parts, { type: LINES }), `${runId.slice(0, 80)}.ndjson`);
  notify(`Exported ${counted(seq, 'event')}`);
}
