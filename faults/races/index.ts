/** Every race by name. */
import type { Race } from './race.ts';

export const RACES: Record<string, Race> = {};
