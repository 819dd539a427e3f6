import { expect, it } from 'vitest';
import { eventIdentity } from './fingerprint.ts';

it('depends on everything except the order of keys (AGT-2)', () => {
  const one = eventIdentity(null, ['t', { a: 1, b: { c: [2], d: undefined } }]);
  expect(eventIdentity(null, ['t', { b: { c: [2] }, a: 1 }])).toBe(one);
  const others = [
    ['t', { a: '1', b: { c: [2] } }],
    ['t', { a: 1, b: { c: 2 } }],
    [null, { a: 1, b: { c: [2] } }],
  ];
  for (const fields of others) expect(eventIdentity(null, fields)).not.toBe(one);
});

it('never equals an id chosen by a caller', () => {
  const fingerprint = eventIdentity(null, ['t']);
  expect(eventIdentity(fingerprint, [])).not.toBe(fingerprint);
  expect(eventIdentity(fingerprint.slice(2), [])).not.toBe(fingerprint);
});
