import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EventBody, StoredRunEvent } from '../engine/runs.ts';
import { digestBytes, digestOf } from '../hash.ts';
import { ChainReader, CommitChain, FIRST_LINK, leafOf, linkOf, payloadHashOf, rollOf, startOfLife } from './chain.ts';

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
      'a string moved from one field to the next',
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

interface VectorV2 extends Vector {
  format: 1 | 2;
  persistedAt: number;
}

// Computed like those of format 1, by a program in Python. Some commits in them have format 1.
const { runs } = JSON.parse(readFileSync(new URL('../../vectors/chain-v2.json', import.meta.url), 'utf8')) as {
  runs: { about: string; run: { tenantId: string; runId: string }; life?: number; events: VectorV2[] }[];
};

function storedOf(
  { event, runSeq, commitIndex, persistedAt, format, link }: VectorV2,
  life: number | undefined,
): StoredRunEvent {
  const stored = { ...event, runSeq, commitIndex, persistedAt, link: digestOf(Buffer.from(link, 'hex')), life };
  return format === 1 ? stored : { ...stored, chainFormat: format };
}

function problemsOf(run: { tenantId: string; runId: string }, events: readonly StoredRunEvent[]): (string | null)[] {
  const reader = new ChainReader(run);
  return events.map((event) => reader.problemOf(event));
}

describe('hash chain, format 2 (RUN-19)', () => {
  it.each(runs)('reproduces the vectors: $about', ({ run, life = 1, events }) => {
    let commit = new CommitChain(2, startOfLife(life));
    let end = startOfLife(life);
    for (const vector of events) {
      if (vector.commitIndex === 1) commit = new CommitChain(vector.format, end);
      const link = commit.add(leafOf(run, vector.event), vector.runSeq);
      expect(digestBytes(link).toString('hex')).toBe(vector.link);
      end = { link, persistedAt: vector.persistedAt };
    }
    const stored = events.map((vector) => storedOf(vector, life === 1 ? undefined : life));
    expect(problemsOf(run, stored)).toEqual(events.map(() => null));
  });

  it('covers the time of every commit but the last', () => {
    for (const { run, life, events } of runs) {
      const stored = events.map((vector) => storedOf(vector, life));
      for (const [at, event] of stored.slice(0, -1).entries()) {
        const next = stored[at + 1]!;
        if (next.commitIndex === 1 && next.chainFormat === undefined) continue;
        const later = stored.with(at, { ...event, persistedAt: next.persistedAt });
        const earlier = stored.with(at, {
          ...event,
          persistedAt: stored[at - 1]?.persistedAt ?? event.persistedAt - 1,
        });
        for (const altered of [later, earlier]) {
          if (altered[at]!.persistedAt === event.persistedAt) continue;
          expect(
            problemsOf(run, altered).some((problem) => problem !== null),
            `event ${event.runSeq}`,
          ).toBe(true);
        }
      }
    }
  });

  it('detects a commit whose format was changed', () => {
    const [{ run, events }] = runs as [(typeof runs)[number]];
    const stored = events.map((vector) => storedOf(vector, undefined));
    for (const at of stored.keys()) {
      const { chainFormat: _, ...older } = stored[at]!;
      expect(problemsOf(run, stored.with(at, older))).not.toEqual(stored.map(() => null));
    }
  });

  it('reports a format that it does not know', () => {
    const [{ run, events }] = runs as [(typeof runs)[number]];
    const stored = events.map((vector) => storedOf(vector, undefined));
    expect(problemsOf(run, stored.with(0, { ...stored[0]!, chainFormat: 3 }))[0]).toContain('format 3');
  });

  it.each([-1, Number.NaN, 2 ** 80, 0.5])('reports a damaged time instead of failing: %s', (persistedAt) => {
    const [{ run, events }] = runs as [(typeof runs)[number]];
    const stored = events.map((vector) => storedOf(vector, undefined));
    expect(problemsOf(run, stored.with(0, { ...stored[0]!, persistedAt })).some((problem) => problem !== null)).toBe(
      true,
    );
  });
});
