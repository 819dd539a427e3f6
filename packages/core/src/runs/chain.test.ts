import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EventBody, StoredRunEvent } from '../engine/runs.ts';
import { digestBytes, digestOf } from '../hash.ts';
import { ChainReader, FIRST_LINK, leafOf, linkOf, payloadHashOf, rollOf } from './chain.ts';

interface Vector {
  runSeq: number;
  commitIndex: number;
  event: EventBody;
  leaf: string;
  roll: string;
  link: string;
}

// Computed by a program in another language, written only from the description of the format.
const vectors = JSON.parse(readFileSync(new URL('../../vectors/chain-v1.json', import.meta.url), 'utf8')) as {
  run: { tenantId: string; runId: string };
  events: Vector[];
};
const stored = vectors.events.map(
  ({ event, runSeq, commitIndex, link }): StoredRunEvent => ({
    ...event,
    runSeq,
    commitIndex,
    persistedAt: 0,
    link: digestOf(Buffer.from(link, 'hex')),
  }),
);

describe('hash chain, format 1 (RUN-17)', () => {
  it('reproduces the vectors', () => {
    let before = FIRST_LINK;
    let last = FIRST_LINK;
    let roll: string | null = null;
    for (const vector of vectors.events) {
      if (vector.commitIndex === 1) {
        before = last;
        roll = null;
      }
      const leaf = leafOf(vectors.run, vector.event);
      roll = rollOf(roll, leaf);
      last = linkOf(before, roll, vector.runSeq);
      expect([leaf, roll, last].map((digest) => digestBytes(digest).toString('hex'))).toEqual([
        vector.leaf,
        vector.roll,
        vector.link,
      ]);
    }
  });

  it('encodes sequences above 2^32 in eight bytes', () => {
    expect(linkOf(FIRST_LINK, FIRST_LINK, 2 ** 32 + 5)).not.toBe(linkOf(FIRST_LINK, FIRST_LINK, 5));
  });

  it('accepts an untouched log', () => {
    const reader = new ChainReader(vectors.run);
    expect(stored.map((event) => reader.problemOf(event))).toEqual([null, null, null]);
  });

  it('computes the same leaf for a redacted payload whose hash was kept', () => {
    const event = vectors.events[0]!.event;
    expect(leafOf(vectors.run, { ...event, payload: null }, payloadHashOf(event.payload))).toBe(
      leafOf(vectors.run, event),
    );
  });

  const altered: [string, (events: StoredRunEvent[]) => StoredRunEvent[]][] = [
    ['an altered payload', ([a, b, c]) => [{ ...a!, payload: '{"by":"eve"}' }, b!, c!]],
    ['an altered type', ([a, b, c]) => [a!, { ...b!, eventType: 'StepSkipped' }, c!]],
    [
      'a text moved from one field to the next',
      ([a, b, c]) => [{ ...a!, projectId: 'shopp', environmentId: 'rod' }, b!, c!],
    ],
    ['a missing event', ([a, , c]) => [a!, c!]],
    ['two swapped events', ([a, b, c]) => [a!, { ...c!, runSeq: 2 }, { ...b!, runSeq: 3 }]],
    ['an altered commit index', ([a, b, c]) => [a!, b!, { ...c!, commitIndex: 1 }]],
    ['a link of another run', ([a, b, c]) => [a!, { ...b!, link: a!.link }, c!]],
    ['a decreasing time', ([a, b, c]) => [{ ...a!, persistedAt: 1 }, b!, c!]],
    [
      'a payload of bytes instead of text',
      ([a, b, c]) => [{ ...a!, payload: Buffer.from(a!.payload!) as unknown as string }, b!, c!],
    ],
  ];
  it.each(altered)('detects %s', (_, alter) => {
    const reader = new ChainReader(vectors.run);
    expect(
      alter([...stored])
        .map((event) => reader.problemOf(event))
        .find((problem) => problem !== null),
    ).toBeTypeOf('string');
  });
});
