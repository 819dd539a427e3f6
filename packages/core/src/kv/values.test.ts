/** Values as text and as numbers. */
import { expect, it } from 'vitest';
import { numberOf, textOf } from './values.ts';

it.each([
  [null, null, null],
  [undefined, null, null],
  ['', '', null],
  ['7', '7', 7],
  ['-1.5', '-1.5', -1.5],
  ['seven', 'seven', null],
  [7, '7', 7],
  [0, '0', 0],
  [false, 'false', null],
  [12n, '12', 12],
  [Buffer.from('8'), '8', 8],
  [Buffer.from('é'), 'é', null],
])('%s is the text %j and the number %j', (value, text, number) => {
  expect([textOf(value), numberOf(value)]).toEqual([text, number]);
});
