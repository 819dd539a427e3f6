import { expect, it } from 'vitest';
import { DEFAULT_RETENTION } from '../tools/context.ts';
import { roomsOf } from './unscoped-room.ts';

it('lets an eighth of the room be used before the next count (AGT-11)', () => {
  const rooms = roomsOf({ ...DEFAULT_RETENTION });
  expect(rooms.take('t', 1, 0), 'nothing was counted').toBe(false);
  rooms.counted('t', { count: 17, bytes: 800 }, 0);
  expect([rooms.take('t', 90, 1), rooms.take('t', 11, 2), rooms.take('t', 10, 3), rooms.take('t', 0, 4)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(rooms.take('other', 1, 1), 'another tenant was not counted').toBe(false);
});

it('counts again after a minute, after the clock was set back, and when there is little room', () => {
  const rooms = roomsOf({ ...DEFAULT_RETENTION });
  rooms.counted('t', { count: 80, bytes: 800 }, 1_000);
  expect([rooms.take('t', 1, 60_999), rooms.take('t', 1, 61_000), rooms.take('t', 1, 999)]).toEqual([
    true,
    false,
    false,
  ]);
  rooms.counted('t', { count: 7, bytes: 800 }, 1_000);
  expect(rooms.take('t', 1, 1_000)).toBe(false);
  rooms.counted('t', { count: -1, bytes: -5 }, 1_000);
  expect(rooms.take('t', 0, 1_000)).toBe(false);
});

it('shares the rooms among views of one store, and not with other stores', () => {
  const retention = { ...DEFAULT_RETENTION };
  roomsOf(retention).counted('t', { count: 80, bytes: 800 }, 0);
  expect(roomsOf(retention).take('t', 1, 0)).toBe(true);
  expect(roomsOf({ ...retention }).take('t', 1, 0)).toBe(false);
});
