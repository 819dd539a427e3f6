/** A run in a file with one event per line. Keeps only the offsets of the lines in memory. */
import { type RunEventRecord, reduceRun } from '@tidemark/core/portable';
import { eventLines } from './exported-parts.ts';
import type { RunSource } from './source.ts';

const NEWLINE = 0x0a;
const PAGE = 1_000;

export interface RunFile {
  source: RunSource;
  runId: string;
}

/** Indexes the lines of an exported run. Throws if the file is not an exported run. */
export async function openRunFile(exported: Blob): Promise<RunFile> {
  const file = await eventLines(exported);
  const ends = await lineEnds(file);
  const read = async (first: number, count: number): Promise<{ events: RunEventRecord[]; size: number }> => {
    const last = Math.min(first + count, ends.length);
    if (first < 0 || first >= last) return { events: [], size: 0 };
    const text = await file.slice(first === 0 ? 0 : ends[first - 1]!, ends[last - 1]!).text();
    return { events: text.trimEnd().split('\n').map(parseEvent), size: text.length };
  };
  const [first] = (await read(0, 1)).events;
  if (!first) throw new Error('The file is empty. An exported run has one event per line.');
  const [last] = (await read(ends.length - 1, 1)).events;
  const lineAfter = lineFinder(first.runSeq, last!.runSeq, ends.length, read);
  return { runId: first.runId, source: sourceOf(last!.runSeq, read, lineAfter) };
}

/** Returns the end offset of each line, including its newline. */
async function lineEnds(file: Blob): Promise<number[]> {
  const ends: number[] = [];
  let at = 0;
  const reader = file.stream().getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    for (let next = chunk.value.indexOf(NEWLINE); next >= 0; next = chunk.value.indexOf(NEWLINE, next + 1))
      ends.push(at + next + 1);
    at += chunk.value.length;
  }
  if (at > (ends.at(-1) ?? 0)) ends.push(at);
  return ends;
}

function parseEvent(line: string): RunEventRecord {
  const event = parse(line);
  if (typeof event?.runSeq === 'number' && typeof event.eventType === 'string' && typeof event.runId === 'string')
    return event as RunEventRecord;
  throw new Error(
    'A line of the file is not an event of a run. Export a run here with `e`, or with `tidemark runs export`.',
  );
}

function parse(line: string): Partial<RunEventRecord> | null {
  try {
    return JSON.parse(line) as Partial<RunEventRecord> | null;
  } catch {
    return null;
  }
}

type ReadLines = (first: number, count: number) => Promise<{ events: RunEventRecord[]; size: number }>;

/**
 * Returns a function that finds the line of the first event after a sequence. If no sequence is missing, the line is
 * computed; otherwise it is found by binary search.
 */
function lineFinder(
  firstSeq: number,
  lastSeq: number,
  lines: number,
  read: ReadLines,
): (seq: number) => Promise<number> {
  const isDense = lastSeq - firstSeq + 1 === lines;
  return async (afterSeq) => {
    if (isDense) return Math.max(0, afterSeq - firstSeq + 1);
    let low = 0;
    let high = lines;
    while (low < high) {
      const middle = (low + high) >> 1;
      const [event] = (await read(middle, 1)).events;
      if (event!.runSeq <= afterSeq) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function sourceOf(head: number, read: ReadLines, lineAfter: (seq: number) => Promise<number>): RunSource {
  return {
    head: async () => head,
    read: async (afterSeq, limit) => read(await lineAfter(afterSeq), limit),
    async snapshot(atSeq = head) {
      let snapshot = null;
      for (let line = 0; ; line += PAGE) {
        const { events } = await read(line, PAGE);
        const wanted = events.filter((event) => event.runSeq <= atSeq);
        if (wanted.length > 0) snapshot = reduceRun(wanted, { from: snapshot });
        if (events.length < PAGE || wanted.length < events.length) break;
      }
      if (snapshot) return snapshot;
      throw new Error('The file has no event up to this sequence.');
    },
  };
}
