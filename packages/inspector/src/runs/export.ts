/** A run as a file: one event a line, which this page can open again. */
import { LINES } from '@tidemark/wire';
import { tell } from '../parts/copy.tsx';
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
    // A blob lies on the disk where it gets large: the page holds a page of the run at a time.
    parts.push(new Blob([events.map((event) => `${JSON.stringify(event)}\n`).join('')]));
    seq = events.at(-1)!.runSeq;
    if (parts.length % 10 === 0) tell(`Exported ${counted(seq, 'event')} so far`);
  }
  saveFile(new Blob(parts, { type: LINES }), `${runId.slice(0, 80)}.ndjson`);
  tell(`Exported ${counted(seq, 'event')}`);
}
