/** The marker of a store, which writers read again now and then until it is raised (UPG-1). */
import { expect, it, onTestFinished, vi } from 'vitest';
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from './chain.ts';
import { ChainMarker } from './chain-marker.ts';

const OLDER = (NEWEST_CHAIN_FORMAT - 1) as ChainFormat;

function markerAt(format: ChainFormat) {
  const state = { now: 1_000, stored: format as ChainFormat | Error, reads: 0 };
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => state.now);
  onTestFinished(() => clock.mockRestore());
  const marker = new ChainMarker(format, async () => {
    state.reads++;
    if (state.stored instanceof Error) throw state.stored;
    return state.stored;
  });
  return { marker, state };
}

it('is read again after five seconds, in the background, and then followed', async () => {
  const { marker, state } = markerAt(OLDER);
  state.stored = NEWEST_CHAIN_FORMAT;
  state.now += 5_000;
  expect([marker.current(), state.reads]).toEqual([OLDER, 0]);
  state.now += 1;
  expect([marker.current(), marker.current(), state.reads]).toEqual([OLDER, OLDER, 1]);
  await Promise.resolve();
  await vi.waitFor(() => expect(marker.current()).toBe(NEWEST_CHAIN_FORMAT));
  state.now += 60_000;
  expect([marker.current(), state.reads]).toEqual([NEWEST_CHAIN_FORMAT, 1]);
});

it('is not read again where it cannot rise', () => {
  const { marker, state } = markerAt(NEWEST_CHAIN_FORMAT);
  state.now += 60_000;
  expect([marker.current(), state.reads]).toEqual([NEWEST_CHAIN_FORMAT, 0]);
});

it('stays when it cannot be read, and never falls', async () => {
  const { marker, state } = markerAt(OLDER);
  state.stored = new Error('not now');
  await marker.refresh();
  expect(marker.current()).toBe(OLDER);
  state.stored = NEWEST_CHAIN_FORMAT;
  await marker.refresh();
  state.stored = OLDER;
  await marker.refresh();
  expect([marker.current(), state.reads]).toEqual([NEWEST_CHAIN_FORMAT, 3]);
});
