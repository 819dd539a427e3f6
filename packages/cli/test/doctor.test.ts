/** The verdict of the doctor: what cannot be seen is never called well. */
import type { DoctorFinding, Durability } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { verdictOn } from '../src/commands/doctor.ts';
import { tidemark } from './command-line.ts';

const CASES: [string, Durability, DoctorFinding['status'][], number, string][] = [
  ['everything is seen and right', 'host-crash', ['ok'], 0, 'all is well'],
  ['something is to be seen to', 'host-crash', ['ok', 'warn'], 0, 'see to: check 1'],
  ['something cannot be seen', 'host-crash', ['ok', 'unknown'], 8, 'no all-clear, not seen: check 1'],
  ['the durability cannot be seen', 'unknown', ['ok'], 8, 'cannot be seen'],
  ['something cannot be seen and is to be seen to', 'unknown', ['warn', 'unknown'], 8, 'no all-clear'],
  ['something is wrong', 'process-crash', ['fail', 'unknown', 'ok'], 6, 'not all is well: check 0'],
];

describe('the verdict', () => {
  it.each(CASES)('where %s', (_, durability, statuses, exit, words) => {
    const findings = statuses.map((status, at) => ({ check: `check ${at}`, status, message: '' }));
    const verdict = verdictOn({ durability, findings });
    expect(verdict.exit).toBe(exit);
    expect(verdict.sentence).toContain(words);
    expect(verdict.sentence.includes('; all is well')).toBe(statuses.every((it) => it === 'ok') && exit === 0);
  });
});

describe.skipIf(offeredUrl('nats') === undefined)('NATS without monitoring', () => {
  it('is no all-clear', async () => {
    const store = `${offeredUrl('nats')}?prefix=doctor_${crypto.randomUUID().slice(0, 8)}`;
    await tidemark(`runs append r --type RunStarted --store ${store}`);
    const { code, stderr, stdout } = await tidemark(`doctor --store ${store}`);
    // Before 2.10 it is known to sync too late; from then on nobody can see it without monitoring.
    const isKnown = stdout.includes('"check":"sync","status":"fail"');
    expect(stdout.includes('"check":"sync","status":"unknown"')).toBe(!isKnown);
    expect(stderr).not.toContain('; all is well');
    expect(code).toBe(isKnown ? 6 : 8);
  });
});
