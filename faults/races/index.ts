/** Every race by name. */
import type { Race } from './race.ts';
import { sweepBesideHeartbeat } from './sweep-beside-heartbeat.ts';

export const RACES: Record<string, Race> = {
  'sweep-beside-heartbeat': sweepBesideHeartbeat,
};
