/** Flow events over journals: one journal per trace, and one for events without a trace (AGT-2). */
import type { EventEngine, FlowEventRow } from '../../engine/agents.ts';
import type { Journal, JournalEntry } from '../../engine/journal.ts';
import type { Contention } from '../../tools/contention.ts';
import { requireAll } from '../../tools/outcomes.ts';
import { inParts } from '../../tools/paging.ts';
import { splitHeader, withHeader } from '../lines.ts';
import { LogAppender } from '../log-appender.ts';
import { readJournal } from '../scan.ts';

const PAGE = 500;
const TRACE = 'trace/';

type Header = [ts: number, kind: string, nodeName: string | null, nodeId: string | null, eventId: string | null];

export function keyedEvents(journal: Journal, contention: Contention): EventEngine {
  const appender = new LogAppender(journal, 'events', contention);
  return {
    async append(tenantId, rows, call) {
      const traces = Map.groupBy(rows, (row) => row.traceId);
      const appends = Array.from(traces, ([traceId, events]) =>
        appender.append(tenantId, journalOf(traceId), events.map(entryOf), call),
      );
      requireAll(await Promise.allSettled(appends));
    },

    async *read(tenantId, traceId, call) {
      const name = { space: 'events', tenantId, name: journalOf(traceId) } as const;
      const rows: FlowEventRow[] = [];
      for await (const page of readJournal(journal, name, call)) {
        for (const entry of page) rows.push(rowOf(traceId, entry));
      }
      // The sort is stable: events with the same `ts` stay in insertion order.
      rows.sort((a, b) => a.ts - b.ts);
      yield* inParts(rows, PAGE);
    },
  };
}

/** Returns the trace of a journal; `null` for the journal of events without a trace. */
export function traceOfJournal(name: string): string | null {
  return name.startsWith(TRACE) ? name.slice(TRACE.length) : null;
}

/** The prefix of traces separates them from the journal of events without a trace. */
export function journalOf(traceId: string | null): string {
  return traceId === null ? 'none' : TRACE + traceId;
}

function entryOf(row: FlowEventRow): { key: string; body: string } {
  const header: Header = [row.ts, row.kind, row.nodeName, row.nodeId, row.eventId];
  return { key: row.id, body: withHeader(header, row.payload) };
}

function rowOf(traceId: string | null, entry: JournalEntry): FlowEventRow {
  const { header, text } = splitHeader<Header>(entry);
  const [ts, kind, nodeName, nodeId, eventId] = header;
  return { traceId, id: entry.key, ts, kind, nodeName, nodeId, eventId, payload: text };
}
