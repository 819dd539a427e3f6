import { describe, expect, it } from 'vitest';
import { EVENT_FIELDS } from '../contracts/event-fields.ts';
import type { StoredRunEvent } from '../engine/runs.ts';
import {
  decodeEvent,
  encodeEvent,
  eventOfRow,
  LEAF_FIELDS,
  leafText,
  OWN_FIELDS,
  ownValuesOf,
  ROW_FIELDS,
  rowOf,
} from './event-forms.ts';

const run = { tenantId: 't', runId: 'r' };

/** An event with a different value in every field. */
const event: StoredRunEvent = {
  runSeq: 7,
  eventId: '8f14e45f-ceea-467f-a9d8-2f1f5c1a3b7e',
  eventType: 'StepCompleted',
  emittedAt: '2026-01-02T03:04:05Z',
  persistedAt: 1_767_323_045_000,
  projectId: 'project',
  environmentId: 'environment',
  planId: 'plan',
  planVersion: 'version',
  engineAttemptId: 2,
  logicalAttemptId: 3,
  idempotencyKey: 'key',
  stepId: 'step',
  extra: '{"labels":{"a":"b"}}',
  payload: '{"n":1}',
  commitIndex: 4,
  link: '\x01'.repeat(32),
  redaction: { payloadHash: '00', at: 5, by: 'somebody', reason: 'asked' },
  chainFormat: 2,
  life: 3,
};

describe('forms of an event', () => {
  it.each(LEAF_FIELDS)('includes %s in the leaf', (field) => {
    const changed = { ...event, [field]: typeof event[field] === 'number' ? 99 : 'changed' };
    expect(leafText(run, changed, 'hash')).not.toBe(leafText(run, event, 'hash'));
  });

  it('writes the fields of a leaf in the order of LEAF_FIELDS', () => {
    const at = LEAF_FIELDS.map((field) => leafText(run, { ...event, [field]: '#mark#' }, 'hash').indexOf('#mark#'));
    expect(at).toEqual(at.toSorted((a, b) => a - b));
  });

  it('round-trips every field through a row and a journal entry', () => {
    expect(eventOfRow(['other', ...rowOf(event)], 1)).toEqual(event);
    const { idempotencyKey: key, runSeq: seq, persistedAt: time } = event;
    expect(decodeEvent({ key, seq, time, body: encodeEvent(event) })).toEqual(event);
    const { redaction, chainFormat, life, ...plain } = { ...event, stepId: null, extra: null, payload: null };
    for (const it of [plain, { ...plain, redaction }, { ...plain, chainFormat }, { ...plain, chainFormat, life }]) {
      expect(eventOfRow(rowOf(it))).toEqual(it);
      expect(decodeEvent({ key, seq, time, body: encodeEvent(it) })).toEqual(it);
    }
  });

  it('encodes events of format 1 as version 0.1 did, and reads what it wrote', () => {
    const { redaction, chainFormat: _, life: __, ...old } = event;
    const line = (it: StoredRunEvent) => JSON.parse(encodeEvent(it).split('\n')[0]!);
    expect([line(old), line({ ...old, redaction })].map(({ length }) => length)).toEqual([13, 14]);
    expect(rowOf(old).at(-1)).toBeNull();
  });

  it('writes the values of a row in the order of ROW_FIELDS', () => {
    const notTexts: readonly string[] = ['link', 'redaction', 'chainFormat', 'life'];
    const texts = ROW_FIELDS.filter((field) => !notTexts.includes(field));
    expect(texts.map((field) => rowOf(event)[ROW_FIELDS.indexOf(field)])).toEqual(texts.map((field) => event[field]));
    expect(ownValuesOf(event)).toEqual(OWN_FIELDS.map((field) => event[field]));
  });

  it('lists each stored field of the table exactly once', () => {
    const stored = Object.entries(EVENT_FIELDS).flatMap(([name, { part }]) => (part === 'run' ? [] : [name]));
    expect([...ROW_FIELDS].sort()).toEqual(stored.sort());
  });
});
