import { compareKeys } from '@tidemark/core/engine';
import { describe, expect, it } from 'vitest';
import { encodeToken, nameOfSubject, subjectOf } from './subjects.ts';

const HOSTILE = [
  'a',
  'A',
  '0',
  '-',
  '_',
  ' ',
  '.',
  '..',
  '*',
  '>',
  'a.b',
  'a>',
  '!',
  '!00',
  '~',
  '=',
  '%',
  '\u0001',
  'é',
  '😀',
  '`',
  '[',
  '/',
  ':',
  '{',
  'a b',
  '',
];

describe('subjects', () => {
  it('encode any id in tokens that NATS accepts (GEN-5)', () => {
    for (const id of HOSTILE) expect(encodeToken(id)).toMatch(/^[^\s.*>]+$/);
  });

  it('keep different ids apart and decode them', () => {
    const names = HOSTILE.flatMap((tenantId) => HOSTILE.map((name) => ({ space: 'kv', tenantId, name })));
    for (const dotted of [false, true]) {
      const subjects = names.map((name) => subjectOf('p.records', name, dotted).text);
      expect(new Set(subjects).size).toBe(names.length);
      expect(subjects.map((subject) => nameOfSubject('p.records', subject, undefined))).toEqual(names);
    }
  });

  it('sort like the ids, token by token', () => {
    const ids = HOSTILE.filter((id) => !id.includes('.'));
    expect(ids.map(encodeToken).sort(compareKeys)).toEqual(ids.sort(compareKeys).map(encodeToken));
  });

  it('fit in a protocol line, even for very long ids', () => {
    const long = '😀'.repeat(128);
    for (const name of ['x'.repeat(512), '%2F'.repeat(512), `${long}.${'é'.repeat(700)}`]) {
      const subject = subjectOf('p.records', { space: 'artifacts', tenantId: long, name }, true);
      expect(subject.text.length).toBeLessThan(3_200);
      const said = subject.hashed ? JSON.stringify([long, name]) : undefined;
      expect(nameOfSubject('p.records', subject.text, said)).toEqual({ space: 'artifacts', tenantId: long, name });
    }
  });
});
