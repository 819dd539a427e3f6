import { expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

function bucketAt(perSecond: number, burst: number) {
  const time = { now: 5_000 };
  return { time, bucket: new TokenBucket(perSecond, burst, () => time.now) };
}

it('starts full and refills at its rate, never above the burst', () => {
  const { time, bucket } = bucketAt(2, 3);
  expect([1, 2, 3].map(() => bucket.take(1))).toEqual([0, 0, 0]);
  expect(bucket.take(1)).toBe(500);
  time.now += 250;
  expect(bucket.take(1)).toBe(250);
  time.now += 250;
  expect(bucket.take(1)).toBe(0);
  time.now += 60_000;
  expect(bucket.take(3)).toBe(0);
  expect(bucket.take(1)).toBe(500);
});

it('takes exactly what it has', () => {
  const { bucket } = bucketAt(10, 3);
  expect(bucket.take(3)).toBe(0);
  expect(bucket.take(2)).toBe(200);
});

it('returns tokens, but holds no more than the burst', () => {
  const { bucket } = bucketAt(1, 2);
  bucket.take(1);
  bucket.giveBack(5);
  expect([bucket.take(2), bucket.take(1)]).toEqual([0, 1_000]);
  bucket.giveBack(1);
  expect(bucket.take(1)).toBe(0);
});

it('serves a call larger than the burst from a full bucket only, and owes the rest', () => {
  const { time, bucket } = bucketAt(10, 2);
  expect(bucket.take(12)).toBe(0);
  expect(bucket.take(1)).toBe(1_100);
  time.now += 1_100;
  expect(bucket.take(5)).toBe(100);
  expect(bucket.take(1)).toBe(0);
});

it('gains nothing if the clock steps back', () => {
  const { time, bucket } = bucketAt(10, 2);
  bucket.take(2);
  time.now -= 10_000;
  expect(bucket.take(1)).toBe(100);
  time.now += 100;
  expect(bucket.take(1)).toBe(0);
});
