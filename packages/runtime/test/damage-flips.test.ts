/**
 * The short version of `faults/damage-flips` on every server that keeps files (F5, KV-12, RUN-17). SQLite has its own.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, runQuietly } from '../../../scripts/processes.ts';
import { neededServers, type ServerName } from '../../../scripts/servers/index.ts';

const FLIPS: Partial<Record<ServerName, number>> = { redis: 20, nats: 6, postgres: 8 };

it.each(neededServers().filter((name) => FLIPS[name] !== undefined))(
  '%s never returns a changed value, and a deep check finds it',
  { timeout: 240_000 },
  async (engine) => {
    const args = ['--engine', engine, '--flips', String(FLIPS[engine]), '--seed', '7'];
    const { code, output } = await runQuietly(process.execPath, [
      join(ROOT, 'scripts/run.js'),
      'faults/damage-flips',
      ...args,
    ]);
    expect(output).toMatch(new RegExp(`damage-flips: ${engine}: ${FLIPS[engine]}: .*; 0 problems`));
    expect(code).toBe(0);
  },
);
