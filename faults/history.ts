/**
 * Checks an append log against what its writers were told. Keys are unique, so no search is needed: every
 * acknowledged write stands where its writer was told it stands, and nothing else is there but writes of unknown outcome.
 */

/** What a writer noted, in real-time order: it noted `sent` before the call and the rest after the answer. */
export type Note =
  | (Write & { kind: 'sent'; batch?: string })
  | (Write & { kind: 'acked'; runSeq: number })
  /** The store said that nothing was written. */
  | (Write & { kind: 'rejected'; code: string })
  /** The store said that it does not know. */
  | (Write & { kind: 'unknown'; code: string });

export interface Write {
  run: string;
  key: string;
  eventId: string;
}

/** An event as it was read back. */
export interface LogEvent {
  runSeq: number;
  key: string;
  eventId: string;
  persistedAt: string;
}

/** The log of each run, in the order it was read. */
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
  /** Those of unknown outcome that turned out to be stored. */
  unknownStored: number;
  problems: Problem[];
}

interface Told {
  eventId: string;
  batch: string | undefined;
  /** The highest sequence of the run that was acknowledged before this write was first sent. */
  floor: number;
  acked: number[];
  rejected: boolean;
}

/** Compares the notes of all writers with the logs of all runs they name. */
export function checkHistory(notes: readonly Note[], logs: Logs): Verdict {
  const told = gather(notes);
  const problems: Problem[] = [];
  const verdict: Verdict = { acked: 0, unknown: 0, unknownStored: 0, problems };
  for (const run of new Set([...told.keys(), ...logs.keys()])) {
    checkRun(run, told.get(run) ?? new Map(), logs.get(run) ?? [], verdict);
  }
  return verdict;
}

/** Calls whose outcome nobody was told, each with its writes: these are to be sent again, with the same keys. */
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

function gather(notes: readonly Note[]): Map<string, Map<string, Told>> {
  const told = new Map<string, Map<string, Told>>();
  const highest = new Map<string, number>();
  for (const note of notes) {
    const writes = told.get(note.run) ?? new Map<string, Told>();
    told.set(note.run, writes);
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
  return told;
}

function checkRun(run: string, told: ReadonlyMap<string, Told>, log: readonly LogEvent[], verdict: Verdict): void {
  const report = (kind: ProblemKind, message: string) => verdict.problems.push({ kind, run, message });
  checkShape(log, report);
  const stored = new Map(log.map((event) => [event.key, event]));
  for (const [key, write] of told) {
    const event = stored.get(key);
    if (write.acked.length > 0) verdict.acked++;
    else if (!write.rejected) {
      verdict.unknown++;
      if (event) verdict.unknownStored++;
    }
    checkWrite(key, write, event, report);
  }
  for (const { key, runSeq } of log) if (!told.has(key)) report('phantom', `${key} at ${runSeq} was never sent`);
  checkBatches(told, stored, report);
}

type Report = (kind: ProblemKind, message: string) => void;

/** What holds of a log by itself: dense sequences, each key once, time that does not go back. */
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

function checkWrite(key: string, write: Told, event: LogEvent | undefined, report: Report): void {
  if (!event) {
    if (write.acked.length > 0) report('lost', `${key} was acknowledged at ${write.acked[0]} and is not there`);
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

/** A batch is there whole and in one piece, or not at all. */
function checkBatches(told: ReadonlyMap<string, Told>, stored: ReadonlyMap<string, LogEvent>, report: Report): void {
  const batches = new Map<string, string[]>();
  for (const [key, { batch }] of told) {
    if (batch !== undefined) batches.set(batch, [...(batches.get(batch) ?? []), key]);
  }
  for (const [batch, keys] of batches) {
    const places = keys.map((key) => stored.get(key)?.runSeq);
    const whole = places.every((place, index) => place !== undefined && place === places[0]! + index);
    if (!whole && places.some((place) => place !== undefined)) {
      report('torn-batch', `the events of batch ${batch} stand at ${places.map((it) => it ?? 'nowhere').join(', ')}`);
    }
  }
}
