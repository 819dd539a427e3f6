/** The lock that refuses a second process where the SQLite of an older Node could damage the file. */
import { describe, expect, it } from 'vitest';
import { allowsSeveralProcesses, holdSingleProcessLock } from '../src/files.ts';
import { newPath } from './fixtures.ts';

const OLD = '3.50.4';

describe('the single-process lock', () => {
  it('is needed before SQLite 3.51.3 and not from there on', () => {
    expect(['3.40.1', '3.50.9', '3.51.2'].map(allowsSeveralProcesses)).toEqual([false, false, false]);
    expect(['3.51.3', '3.51.10', '3.52.0', '3.53.4', '4.0.0'].map(allowsSeveralProcesses)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(holdSingleProcessLock(newPath(), '3.51.3')).toBeNull();
  });

  it('rejects a second holder and names the remedy', () => {
    const path = newPath();
    const lock = holdSingleProcessLock(path, OLD)!;
    expect(() => holdSingleProcessLock(path, OLD)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringMatching(
          /is open in another process.*SQLite 3\.50\.4.*use Node .* or newer, or close the other process/,
        ),
      }),
    );
    lock.release();
  });

  it('is free again after its release', () => {
    const path = newPath();
    holdSingleProcessLock(path, OLD)!.release();
    const again = holdSingleProcessLock(path, OLD);
    expect(again).not.toBeNull();
    again!.release();
  });
});
