/**
 * A block holds one run of a pack as lines of JSON. The first line describes the run. Its parts follow, with one column
 * per field, which compresses far better than single events. The last line has the hash of all bytes before it. Links
 * and default keys are omitted, and recomputed when the block is read. If they do not lead to the head of the run, the
 * block is corrupt.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  EVENT_FIELD_NAMES,
  EVENT_FIELDS,
  type ExportedEvent,
  type ExportedRun,
  leafOf,
  type RunPart,
  type StoredField,
  TidemarkError,
} from '@tidemark/core';
import {
  type ChainFormat,
  CommitChain,
  type CommitEnd,
  defaultIdempotencyKey,
  digestBytes,
  NEWEST_CHAIN_FORMAT,
  startOfLife,
} from '@tidemark/core/engine';

const FORMAT = 'tidemark-run-1';

/** Sequences and links are not stored but recomputed. */
type Column = Exclude<StoredField, 'runSeq' | 'link'>;

const COLUMNS = EVENT_FIELD_NAMES.filter(
  (name): name is Column => EVENT_FIELDS[name].part !== 'run' && name !== 'runSeq' && name !== 'link',
);

/** A block of an older version lacks the columns of fields that were added later. */
type Columns = Partial<Record<Column, unknown[]>>;
type Line =
  | { format: typeof FORMAT; run: ExportedRun }
  | { from: number; count: number; columns: Columns }
  | { end: string };

/** Yields the lines of a run. */
export async function* encodeBlock(parts: AsyncIterable<RunPart>): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash('sha256');
  const line = (content: Line) => {
    const bytes = Buffer.from(`${JSON.stringify(content)}\n`);
    hash.update(bytes);
    return bytes;
  };
  let isFirst = true;
  for await (const { run, events } of parts) {
    if (isFirst) yield line({ format: FORMAT, run });
    isFirst = false;
    yield line({ from: events[0]!.runSeq, count: events.length, columns: columnsOf(run, events) });
  }
  yield Buffer.from(`${JSON.stringify({ end: hash.digest('hex') } satisfies Line)}\n`);
}

function columnsOf({ runId }: ExportedRun, events: readonly ExportedEvent[]): Columns {
  const kept = events.map((event) => ({
    ...event,
    idempotencyKey: event.idempotencyKey === defaultIdempotencyKey({ ...event, runId }) ? null : event.idempotencyKey,
    redaction: event.redaction ?? null,
  }));
  return Object.fromEntries(COLUMNS.map((name) => [name, folded(kept.map((event) => event[name]))])) as Columns;
}

/** Folds a column whose values are all equal into a single value. */
function folded(values: unknown[]): unknown[] {
  const [first] = values;
  return typeof first !== 'object' && values.every((value) => value === first) ? [first] : allNull(values);
}

function allNull(values: unknown[]): unknown[] {
  return values.every((value) => value === null) ? [null] : values;
}

/** A block whose end has not been read yet. Its last part is held back until then. */
interface OpenBlock {
  run: ExportedRun;
  hash: Hash;
  links: Links;
  held: RunPart | null;
}

/** Reads blocks line by line. Returns each part once it is complete and its links are verified. */
export class BlockReader {
  #open: OpenBlock | null = null;
  /** The run whose first line was read last. */
  opened: ExportedRun | null = null;
  /** The run whose last line was read last. */
  finished: ExportedRun | null = null;

  /**
   * Reads a line and returns the part that it completes, if any. The last part is returned only with the end of its
   * block.
   */
  take(line: Buffer): RunPart | null {
    this.finished = null;
    const content = parse(line);
    this.opened = 'format' in content ? content.run : null;
    if ('format' in content) {
      if (content.format !== FORMAT)
        throw corrupt(`it is written as ${content.format}, which this library does not read`);
      // The writer abandoned the previous block before its end.
      this.#open = { run: content.run, hash: createHash('sha256'), links: new Links(content.run), held: null };
    }
    const open = this.#open;
    if (!open) throw corrupt('a part of no run');
    if ('end' in content) return this.#end(open, content.end);
    open.hash.update(line);
    if (!('columns' in content)) return null;
    const { held } = open;
    open.held = { run: open.run, events: open.links.linked(eventsOf(open.run, content)), isLast: false };
    return held;
  }

  #end(open: OpenBlock, sha256: string): RunPart {
    const { run, hash, held } = open;
    if (hash.digest('hex') !== sha256) throw corrupt(`run ${JSON.stringify(run.runId)} does not match its checksum`);
    const last = held?.events.at(-1);
    if (!held || last?.runSeq !== run.lastEventSeq || last.link !== run.head)
      throw corrupt(`the events of run ${JSON.stringify(run.runId)} do not lead to its head`);
    this.#open = null;
    this.finished = run;
    return { ...held, isLast: true };
  }
}

function parse(line: Buffer): Line {
  try {
    return JSON.parse(line.toString()) as Line;
  } catch (error) {
    throw corrupt(`a line is no JSON: ${(error as Error).message}`);
  }
}

function eventsOf(
  { runId }: ExportedRun,
  { from, count, columns }: { from: number; count: number; columns: Columns },
): ExportedEvent[] {
  return Array.from({ length: count }, (_, at) => {
    const value = (name: Column) => {
      const values = columns[name] ?? [null];
      return values[values.length === 1 ? 0 : at];
    };
    const fields = Object.fromEntries(COLUMNS.map((name) => [name, value(name)])) as unknown as ExportedEvent;
    const { redaction, chainFormat, life, ...event } = { ...fields, runSeq: from + at, link: '' };
    event.idempotencyKey ??= defaultIdempotencyKey({ ...event, runId });
    return { ...event, ...(redaction && { redaction }), ...(chainFormat && { chainFormat }), ...(life && { life }) };
  });
}

/** Recomputes the links of a run. */
class Links {
  readonly #run: ExportedRun;
  #before: CommitEnd;
  #commit: CommitChain | null = null;

  constructor(run: ExportedRun) {
    this.#run = run;
    this.#before = startOfLife(run.life ?? 1);
  }

  linked(events: ExportedEvent[]): ExportedEvent[] {
    for (const event of events) {
      if (event.commitIndex === 1 || !this.#commit) this.#commit = new CommitChain(formatOf(event), this.#before);
      const link = this.#commit.add(leafOf(this.#run, event, event.redaction?.payloadHash), event.runSeq);
      this.#before = { link, persistedAt: Date.parse(event.persistedAt) };
      event.link = digestBytes(link).toString('hex');
    }
    return events;
  }
}

function formatOf({ runSeq, chainFormat = 1 }: ExportedEvent): ChainFormat {
  if (chainFormat === 1 || chainFormat === NEWEST_CHAIN_FORMAT) return chainFormat;
  throw corrupt(`the chain at event ${runSeq} has format ${chainFormat}, which this library does not read`);
}

export function corrupt(problem: string): TidemarkError {
  return new TidemarkError('CORRUPT_EVENT', `The archive is damaged: ${problem}`);
}
