import { expect, it } from 'vitest';
import { eventIdentity } from './fingerprint.ts';

it('does not depend on the order of keys, and does on everything else (AGT-2)', () => {
  const one = eventIdentity(null, ['t', { a: 1, b: { c: [2], d: undefined } }]);
  expect(eventIdentity(null, ['t', { b: { c: [2] }, a: 1 }])).toBe(one);
  const others = [
    ['t', { a: '1', b: { c: [2] } }],
    ['t', { a: 1, b: { c: 2 } }],
    [null, { a: 1, b: { c: [2] } }],
  ];
  for (const fields of others) expect(eventIdentity(null, fields)).not.toBe(one);
});

it('never meets an id that a caller chose', () => {
  const fingerprint = eventIdentity(null, ['t']);
  expect(eventIdentity(fingerprint, [])).not.toBe(fingerprint);
  expect(eventIdentity(fingerprint.slice(2), [])).not.toBe(fingerprint);
});
