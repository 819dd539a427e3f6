import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSegment, encodeSegment, idOfSegment } from './segments.ts';

describe('ids in paths (GEN-5)', () => {
  it('survive the URL parser unchanged', () => {
    const ids = fc.oneof(
      fc.constantFrom('.', '..', '~', '~.', '~~', 'a/b', '%2F', '%', 'ü ?#&', 'plain'),
      fc.string({ unit: 'binary' }).filter((id) => id !== '' && id.isWellFormed()),
    );
    fc.assert(
      fc.property(ids, (id) => {
        expect(decodeSegment(new URL(`http://x/${encodeSegment(id)}`).pathname.slice(1))).toBe(id);
      }),
    );
  });

  it('are rejected unless they are percent-encoded UTF-8', () => {
    expect(decodeSegment('%ff')).toBeNull();
    expect(() => idOfSegment('%ff', 'runId')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'runId' }),
    );
  });
});
