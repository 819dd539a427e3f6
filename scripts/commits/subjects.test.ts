/** Commit subjects of the agreed form pass, and each way to break it is reported. */
import { describe, expect, it } from 'vitest';
import { parseCommits, subjectProblems } from './subjects.ts';

const problemsOf = (subject: string) => subjectProblems({ hash: 'abc1234', subject });

describe('commit subjects', () => {
  it.each([
    ['nats: start watches after the leader’s last sequence'],
    ['postgres, redis: share the retry policy'],
    [`core: ${'a'.repeat(66)}`],
  ])('pass: %s', (subject) => {
    expect(problemsOf(subject)).toEqual([]);
  });

  it.each([
    ['an area is missing', 'Start watches after the last sequence'],
    ['the area is a sentence', 'A busy machine is no fault: short times are judged by the clock'],
    ['nothing follows the area', 'core: '],
    ['a full stop ends it', 'core: fix the index.'],
    ['it is too long', `core: ${'a'.repeat(67)}`],
  ])('are refused when %s', (_, subject) => {
    expect(problemsOf(subject)).toHaveLength(1);
  });

  it('are read from the log with their hashes', () => {
    expect(parseCommits('abc1234 core: fix it\ndef5678 docs: add a page\n')).toEqual([
      { hash: 'abc1234', subject: 'core: fix it' },
      { hash: 'def5678', subject: 'docs: add a page' },
    ]);
  });
});
