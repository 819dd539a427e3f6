/**
 * Checks an append log against the results that its writers got. Keys are unique, so no search is needed: every
 * acknowledged write must be at its acknowledged position, and otherwise the log may contain only writes of unknown
 * outcome.
 */

/** The notes of a writer in real-time order: `sent` before the call, the others after the result. */
export type Note =
  | (Write & { kind: 'sent'; batch?: string })
  | (Write & { kind: 'acked'; runSeq: number })
  /** The store reported that nothing was written. */
  | (Write & { kind: 'rejected'; code: string })
  /** The store reported that the outcome is unknown. */
  | (Write & { kind: 'unknown'; code: string });

export interface Write {
  run: string;
  key: string;
  eventId: string;
}

/** An event that was read back. */
export interface LogEvent {
  runSeq: number;
  key: string;
  eventId: string;
  persistedAt: string;
}

/** The log of each run, in reading order. */
export type Logs = ReadonlyMap<string, readonly LogEvent[]>;

export type ProblemKind =
  | 'lost'
  | 'duplicated'
  | 'moved'
  | 'altered'
  | 'gap'
  | 'phantom'
  | 'rejected-but-stored'
  | 'torn-batch'
  | 'time-went-back'
  | 'out-of-order';

export interface Problem {
  kind: ProblemKind;
  run: string;
  message: string;
}

export interface Verdict {
  acked: number;
  /** Sent, and neither acknowledged nor rejected. */
  unknown: number;
  /** Writes of unknown outcome that turned out to be stored. */
  unknownStored: number;
  problems: Problem[];
}

interface WriteHistory {
  eventId: string;
  batch: string | undefined;
  /** The highest sequence of the run that was acknowledged before this write was first sent. */
  floor: number;
  acked: number[];
  rejected: boolean;
}

/** Compares the notes of all writers with the logs of all runs in them. */
export function checkHistory(notes: readonly Note[], logs: Logs): Verdict {
  const histories = gather(notes);
  const problems: Problem[] = [];
  const verdict: Verdict = { acked: 0, unknown: 0, unknownStored: 0, problems };
  for (const run of new Set([...histories.keys(), ...logs.keys()])) {
    checkRun(run, histories.get(run) ?? new Map(), logs.get(run) ?? [], verdict);
  }
  return verdict;
}

/** Returns the calls of unknown outcome, each with its writes, to be retried with the same keys. */
export function unsettled(notes: readonly Note[]): { batch: string | undefined; writes: Write[] }[] {
  const open = new Map<string, Note & { kind: 'sent' }>();
  for (const note of notes) {
    if (note.kind === 'sent') open.set(`${note.run}\0${note.key}`, note);
    else if (note.kind !== 'unknown') open.delete(`${note.run}\0${note.key}`);
  }
  const calls = Map.groupBy(open.values(), ({ batch, key }) => batch ?? key);
  return [...calls.values()].map((sent) => ({
    batch: sent[0]!.batch,
    writes: sent.map(({ run, key, eventId }) => ({ run, key, eventId })),
  }));
}

function gather(notes: readonly Note[]): Map<string, Map<string, WriteHistory>> {
  const histories = new Map<string, Map<string, WriteHistory>>();
  const highest = new Map<string, number>();
  for (const note of notes) {
    const writes = histories.get(note.run) ?? new Map<string, WriteHistory>();
    histories.set(note.run, writes);
    let write = writes.get(note.key);
    if (!write) {
      if (note.kind !== 'sent') throw new Error(`${note.key} of ${note.run} was ${note.kind} before it was sent`);
      const floor = highest.get(note.run) ?? 0;
      write = { eventId: note.eventId, batch: note.batch, floor, acked: [], rejected: false };
      writes.set(note.key, write);
    }
    if (note.kind === 'sent') write.rejected = false;
    if (note.kind === 'rejected') write.rejected = true;
    if (note.kind === 'acked') {
      write.acked.push(note.runSeq);
      highest.set(note.run, Math.max(highest.get(note.run) ?? 0, note.runSeq));
    }
  }
  return histories;
}

function checkRun(
  run: string,
  histories: ReadonlyMap<string, WriteHistory>,
  log: readonly LogEvent[],
  verdict: Verdict,
): void {
  const report = (kind: ProblemKind, message: string) => verdict.problems.push({ kind, run, message });
  checkShape(log, report);
  const stored = new Map(log.map((event) => [event.key, event]));
  for (const [key, write] of histories) {
    const event = stored.get(key);
    if (write.acked.length > 0) verdict.acked++;
    else if (!write.rejected) {
      verdict.unknown++;
      if (event) verdict.unknownStored++;
    }
    checkWrite(key, write, event, report);
  }
  for (const { key, runSeq } of log) if (!histories.has(key)) report('phantom', `${key} at ${runSeq} was never sent`);
  checkBatches(histories, stored, report);
}

type Report = (kind: ProblemKind, message: string) => void;

/** Checks the log itself: dense sequences, each key once, times that do not decrease. */
function checkShape(log: readonly LogEvent[], report: Report): void {
  const seen = new Map<string, number>();
  const eventIds = new Map<string, number>();
  log.forEach(({ key, eventId, runSeq, persistedAt }, index) => {
    if (runSeq !== index + 1) report('gap', `place ${index + 1} of the log holds sequence ${runSeq}`);
    const same = seen.get(key) ?? eventIds.get(eventId);
    if (same !== undefined) report('duplicated', `${key} (${eventId}) stands at ${same} and again at ${runSeq}`);
    seen.set(key, runSeq);
    eventIds.set(eventId, runSeq);
    const before = log[index - 1]?.persistedAt;
    if (before !== undefined && persistedAt < before) {
      report('time-went-back', `${runSeq} was stored at ${persistedAt}, the event before it at ${before}`);
    }
  });
}

function checkWrite(key: string, write: WriteHistory, event: LogEvent | undefined, report: Report): void {
  if (!event) {
    if (write.acked.length > 0) report('lost', `${key} was acknowledged at ${write.acked[0]} and does not exist`);
    return;
  }
  for (const runSeq of write.acked) {
    if (runSeq !== event.runSeq) report('moved', `${key} was acknowledged at ${runSeq} and stands at ${event.runSeq}`);
  }
  if (event.eventId !== write.eventId) {
    report('altered', `${key} was sent as ${write.eventId} and stored as ${event.eventId}`);
  }
  if (write.rejected && write.acked.length === 0) {
    report('rejected-but-stored', `${key} was rejected and stands at ${event.runSeq}`);
  }
  if (event.runSeq <= write.floor) {
    const message = `${key} stands at ${event.runSeq}, though ${write.floor} was acknowledged before it was sent`;
    report('out-of-order', message);
  }
}

/** Checks that each batch is stored completely and contiguously, or not at all. */
function checkBatches(
  histories: ReadonlyMap<string, WriteHistory>,
  stored: ReadonlyMap<string, LogEvent>,
  report: Report,
): void {
  const batches = new Map<string, string[]>();
  for (const [key, { batch }] of histories) {
    if (batch !== undefined) batches.set(batch, [...(batches.get(batch) ?? []), key]);
  }
  for (const [batch, keys] of batches) {
    const sequences = keys.map((key) => stored.get(key)?.runSeq);
    const whole = sequences.every((seq, index) => seq !== undefined && seq === sequences[0]! + index);
    if (!whole && sequences.some((seq) => seq !== undefined)) {
      report(
        'torn-batch',
        `the events of batch ${batch} stand at ${sequences.map((it) => it ?? 'nowhere').join(', ')}`,
      );
    }
  }
}
