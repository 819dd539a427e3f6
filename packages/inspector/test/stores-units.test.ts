import type { Job, SteeringEvent } from '@tidemark/core';
import { base64Of, bytesOfWire } from '@tidemark/wire';
import { describe, expect, it } from 'vitest';
import { conversationOf, wordsOf } from '../src/agents/update-text.ts';
import { previewKindOf } from '../src/artifacts/preview-kind.ts';
import { outlookOf } from '../src/jobs/outlook.ts';
import { formsOf, textIn } from '../src/kv/decoders.ts';
import { changesOf, draftOf, flawOf, NEW_FIELD, sealedIn } from '../src/kv/draft.ts';

describe('fields', () => {
  it('use the most specific format', () => {
    expect(formsOf({ text: '1770000000000' })[0]).toBe('time');
    expect(formsOf({ text: '2026-02-03T04:05:06Z' })[0]).toBe('time');
    expect(formsOf({ text: '-12.50' })[0]).toBe('number');
    expect(formsOf({ text: '{"a":1}' })[0]).toBe('JSON');
    expect(formsOf({ text: '{"a":1' })[0]).toBe('text');
    expect(formsOf({ base64: '/w==' })).toEqual(['hex', 'base64']);
  });

  it('show numbers beyond 2^53 as their exact digits', () => {
    expect(textIn('number', { text: '1234567' })).toBe('1,234,567');
    expect(textIn('number', { text: '12345678901234567891' })).toBe('12345678901234567891');
  });

  it('have the same bytes in every format', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    expect(bytesOfWire({ base64: base64Of(bytes) })).toEqual(bytes);
    expect(textIn('hex', { text: 'é' })).toBe('c3a9');
  });
});

describe('a draft of a record', () => {
  const base = { a: { text: '1' }, b: { base64: '/w==' }, ['__proto__']: { text: 'odd' } };

  it('writes only changed fields', () => {
    const draft = draftOf(base).map((field) => (field.name === 'a' ? { ...field, content: '2' } : field));
    expect(changesOf(draft, base)).toEqual({ a: { text: '2' } });
    expect(changesOf(draftOf(base), base)).toEqual({});
  });

  it('removes and adds fields with any name', () => {
    const draft = draftOf(base).map((field) => ({ ...field, isRemoved: field.name === '__proto__' }));
    const changes = changesOf([...draft, { ...NEW_FIELD, name: 'constructor', content: 'x' }], base);
    expect(Object.entries(changes)).toEqual([
      ['__proto__', null],
      ['constructor', { text: 'x' }],
    ]);
  });

  it('seals what was sealed, but not what is removed or added', () => {
    const record = { fields: base, revision: 1, sealed: ['a', 'gone'] };
    expect(sealedIn({ a: { text: '2' }, gone: null, other: { text: 'x' } }, record)).toEqual(['a']);
    expect(sealedIn({ a: { text: '2' } }, { fields: base, revision: 1 })).toEqual([]);
  });

  it('reports invalid fields before anything is sent', () => {
    expect(flawOf(draftOf(base))).toBeNull();
    expect(flawOf(draftOf({ a: { base64: 'not base64' } }))).toContain('not base64');
    expect(flawOf([NEW_FIELD])).toContain('name');
    expect(flawOf([...draftOf(base), { ...NEW_FIELD, name: 'a' }])).toContain('same name');
    expect(flawOf(draftOf(base).map((field) => ({ ...field, isRemoved: true })))).toContain('delete it instead');
  });
});

describe('the outlook of a job', () => {
  const now = 1_000_000_000;
  const job: Job = {
    ...{ taskType: 'mail', taskId: '1', key: 'k', state: 'running', worker: 'w1', priority: 0, revision: 1 },
    ...{ createdAt: now - 90_000, updatedAt: now - 90_000, timeoutAt: now - 30_000, retryCount: 0, maxRetries: 3 },
  };

  it('explains an ended lease and the next sweep', () => {
    expect(outlookOf(job, now).why).toBe('The lease of w1 ended 30.0 s ago without a heartbeat.');
    expect(outlookOf(job, now).next).toContain('retry 1 of 3');
    expect(outlookOf({ ...job, retryCount: 3 }, now).next).toContain('fails it permanently');
  });

  it('explains held, waiting and failed jobs', () => {
    expect(outlookOf({ ...job, timeoutAt: now + 5_000 }, now).why).toContain('holds it for another 5.0 s');
    expect(outlookOf({ ...job, state: 'pending', runAt: now + 5_000 }, now).next).toContain('in 5.0 s');
    expect(outlookOf({ ...job, state: 'pending', runAt: now + 5_000, error: 'no box' }, now).why).toBe(
      'It is scheduled for later. The last attempt that failed: no box',
    );
    expect(outlookOf({ ...job, state: 'pending' }, now).why).toContain('No worker has claimed it for 1 m 30 s');
    expect(outlookOf({ ...job, state: 'failed', error: 'no box', retryCount: 1 }, now).why).toContain(
      'after 1 retry: no box',
    );
  });
});

describe('a conversation', () => {
  const ids = { sessionId: 's', taskId: 't' };

  it('merges both sides in order, steering events first at equal times', () => {
    const steering: SteeringEvent[] = [
      {
        ...ids,
        eventId: '1',
        eventType: 'USER_MESSAGE',
        payload: { text: 'hello' },
        createdAt: '2026-01-01T00:00:01Z',
      },
    ];
    const messages = conversationOf(
      [
        { ...ids, updateId: '1', updateType: 'RESULT', content: 'yes', createdAt: '2026-01-01T00:00:01Z' },
        { ...ids, updateId: '2', updateType: 'THINKING', content: 'hm', createdAt: '2026-01-01T00:00:00Z' },
      ],
      steering,
    );
    expect(messages.map(({ words, isAside }) => [words, isAside])).toEqual([
      ['hm', true],
      ['hello', false],
      ['yes', false],
    ]);
  });

  it('finds the text in any content', () => {
    expect(wordsOf({ message: 'hi' })).toBe('hi');
    expect(wordsOf({ a: [1] })).toBe('{a: [1]}');
    expect(wordsOf({})).toBe('');
    expect(wordsOf(null)).toBe('');
  });
});

describe('artifacts', () => {
  const kindOf = (mimeType: string | null, filename: string | null = null) => previewKindOf({ mimeType, filename });

  it('are shown as images only if the type cannot contain scripts', () => {
    expect(kindOf('image/png')).toBe('image');
    expect(kindOf('IMAGE/PNG; x="<script>"')).toBe('image');
    expect(kindOf('image/svg+xml')).toBe('text');
    expect(kindOf('text/html')).toBe('text');
    expect(kindOf('application/pdf')).toBe('bytes');
    expect(kindOf('image/png,<script>')).toBe('bytes');
    expect(kindOf(null, 'notes.md')).toBe('text');
  });
});
